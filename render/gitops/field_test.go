package gitops

import (
	"encoding/json"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
)

func TestMergePatches(t *testing.T) {
	for _, test := range []struct{ f, patch, merged, strategic string }{
		{`{a: 1, b: {c: 1, d: 1}}`, `{b: {c: null, e: [1]}}`, `{"a":1,"b":{"d":1,"e":[1]}}`, `{"a":1,"b":{"d":1,"e":[1]}}`},
		{`{a: 1}`, `{b: {c: {d: null}}}`, `{"a":1,"b":{"c":{}}}`, `{"a":1,"b":{"c":{}}}`},
		{`{a: 1}`, `[x]`, `["x"]`, `["x"]`},
		{`{a: {b: 1, c: {d: 1}}}`, `{a: {$patch: replace, c: {e: 1}}}`, `{"a":{"$patch":"replace","b":1,"c":{"d":1,"e":1}}}`,
			`{"a":{"$patch":"replace","c":{"e":1}}}`},
		{`{a: {b: 1}}`, `{a: {$patch: delete, c: 1}}`, `{"a":{"$patch":"delete","b":1,"c":1}}`, `{"a":{}}`},
		{`{a: 1}`, `{a: {$patch: replace, c: 1}, b: {c: {$patch: replace}}}`,
			`{"a":{"$patch":"replace","c":1},"b":{"c":{"$patch":"replace"}}}`, `{"b":{}}`},
	} {
		var fields []*field
		for _, text := range []string{test.f, test.patch} {
			documents, err := doc.Parse("", []byte(text), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			fields = append(fields, fieldOfNode("", documents[0]))
		}
		for strategic, want := range map[bool]string{false: test.merged, true: test.strategic} {
			if got, err := json.Marshal(fields[0].merge(fields[1], strategic)); err != nil || string(got) != want {
				t.Errorf("%s with %s: %s (%v), want %s", test.f, test.patch, got, err, want)
			}
		}
	}
}

func TestEmptyFieldsAreFilledFromAnotherValue(t *testing.T) {
	for _, test := range []struct{ f, under, filled, over string }{
		{`{a: "", b: {c: 1, d: null}, e: ""}`, `{a: 2, b: {c: 2, d: 2, f: 2}}`, `{"a":2,"b":{"c":1,"d":2,"f":2},"e":""}`,
			`{"a":"","b":{"c":1,"d":null,"f":2},"e":""}`},
		{`{a: 1}`, `{a: {b: 2}}`, `{"a":1}`, `{"a":1}`},
	} {
		var fields []*field
		for _, text := range []string{test.f, test.under} {
			documents, err := doc.Parse("", []byte(text), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			fields = append(fields, fieldOfNode("", documents[0]))
		}
		for fill, want := range map[bool]string{true: test.filled, false: test.over} {
			if got, err := json.Marshal(fields[0].over(fields[1], fill)); err != nil || string(got) != want {
				t.Errorf("%s over %s: %s (%v), want %s", test.f, test.under, got, err, want)
			}
		}
	}
}
