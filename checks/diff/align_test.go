package diff_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/diff"
)

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        []int
	}{
		{`["a","b"]`, `["x","a","b"]`, []int{-1, 0, 1}},
		{`["a","b"]`, `["b"]`, []int{1}},
		{`["a","a"]`, `["a","a","a"]`, []int{0, 1, -1}},
		{`["a","b","c"]`, `["c","a","b"]`, []int{2, 0, 1}},
		{`["a","b","c"]`, `["a","x","c"]`, []int{0, 1, 2}},
		{`["a"]`, `["x"]`, []int{0}},
		{`[]`, `["x"]`, []int{-1}},
		{`[{"p":1,"q":1},{"p":2,"q":2}]`, `[{"p":9,"q":9},{"p":1,"q":1},{"p":2,"q":3}]`, []int{-1, 0, 1}},
		{`[{"p":1,"q":1}]`, `[{"p":5,"q":6},{"p":1,"q":7}]`, []int{-1, 0}},
		{`[{"name":"a","v":1},{"v":3}]`, `[{"v":3},{"name":"b"},{"name":"a","v":2}]`, []int{1, -1, 0}},
		{`[{"name":"a"}]`, `[{"name":"a"},{"name":"a"}]`, []int{0, -1}},
	} {
		var before, now []any
		if err := json.Unmarshal([]byte(c.before), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.now), &now); err != nil {
			t.Fatal(err)
		}
		if got := diff.Align(before, now); !slices.Equal(got, c.want) {
			t.Errorf("%s -> %s: got %v, want %v", c.before, c.now, got, c.want)
		}
	}
}

func TestEarlier(t *testing.T) {
	var was, object map[string]any
	_ = json.Unmarshal([]byte(`{"rules":[{"host":"old","paths":["/x"]}]}`), &was)
	_ = json.Unmarshal([]byte(`{"rules":[{"host":"new","paths":[]},{"host":"old","paths":["/new","/x"]}]}`), &object)
	versions := diff.NewVersions(was, object)
	for pointer, want := range map[string]string{
		"/rules/0/host": "", "/rules/1/host": "/rules/0/host", "/rules/1/tls/a~1b": "/rules/0/tls/a~1b",
		"/rules/1/paths/0": "", "/rules/1/paths/1": "/rules/0/paths/0", "": "", "/rules": "/rules", "/other/0": "/other/0",
	} {
		got, ok := versions.Earlier(pointer)
		if got != want || ok != (want != "" || pointer == "") {
			t.Errorf("%s: got %q %v, want %q", pointer, got, ok, want)
		}
	}
}

// Matching long lists whose elements were all edited, or all moved, takes linear time.
func TestAlignLong(t *testing.T) {
	const n = 20_000
	edited, moved, now := make([]any, n), make([]any, n), make([]any, n)
	for i := range n {
		edited[i] = map[string]any{"v": int64(-i), "w": int64(1)}
		now[i] = map[string]any{"v": int64(i + 1), "w": int64(1)}
		moved[n-1-i] = now[i]
	}
	for i, from := range diff.Align(edited, now) {
		if from != i {
			t.Fatalf("edited: %d is %d", i, from)
		}
	}
	for i, from := range diff.Align(moved, now) {
		if from != n-1-i {
			t.Fatalf("moved: %d is %d", i, from)
		}
	}
}
