package graph

import (
	"strings"
	"testing"
)

// Bytes that are not an index, or a damaged one, give an error or any result, but never crash.
func FuzzDecode(f *testing.F) {
	facts := &facts{}
	facts.add(readers, "base", "env/a")
	facts.add(readers, "base", "env/b")
	facts.add(mentions, "Namespace", "a.yaml")
	good := encode(facts)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(data)
		if err != nil {
			return
		}
		for r := range relations {
			for key := range s.keys(r, "") {
				for value := range s.values(r, key) {
					_ = s.has(r, key, value)
				}
			}
		}
	})
}

func TestWordsThatAreWholeValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kind: Namespace", "Namespace"},
		{"kind: Namespace # c\nname: x", "Namespace"},
		{`{"kind":"Namespace","a":[Pod]}`, "Namespace Pod"},
		{"kind: 'Namespace'\r\n", "Namespace"},
		{"description: The word Namespace is here", ""},
		{"kind: &k Namespace\n", "Namespace"},
		{"{kind: Namespace}", "Namespace"},
		{"kind: thing\n", "thing"},
		{`{"kind" : "thing", "name": "thing"}`, "thing"},
		{"x: kubeNamespace\ny: namespace\n", ""},
		{`data: "{\"kind\":\"Namespace\"}"`, "Namespace"},
	} {
		var got []string
		values([]byte(c.text), func(w string) { got = append(got, w) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
