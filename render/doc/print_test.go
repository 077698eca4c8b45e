package doc_test

import (
	"bytes"
	"math"
	"testing"

	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
)

func samePrint(t *testing.T, object any) {
	t.Helper()
	want, err := sigsyaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := doc.Print(object); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestPrint(t *testing.T) {
	for _, v := range []any{"", "on", "y", "1", "1e3", "0x1", "null", "~", "a: b", "- a", "#", "a\nb", "a\n", "\ttab", " lead",
		"<a>&", "é\u2028", "2020-01-01", "12:30:45", int64(5), int64(math.MaxInt64), int64(-3), 0.5, 1e-7, 1e21, 2.5e10, true,
		false, nil, []any{}, map[string]any{}, []any{nil, []any{int64(1)}}} {
		samePrint(t, map[string]any{"a": v, "10": v, "9": []any{v, map[string]any{"x": v}}, "true": "k", "A": "b", "a1": "", "a10": ""})
	}
	if _, err := doc.Print(make(chan int)); err == nil {
		t.Error("a channel was printed")
	}
}

func FuzzPrint(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2.5, "on", null, {"b": "x\ny"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(data, &object) == nil {
			samePrint(t, object)
		}
	})
}
