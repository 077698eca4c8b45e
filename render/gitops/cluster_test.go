package gitops

import "testing"

// Parts of what one generator selects are apart where no cluster can get both, and have a word for people.
func TestParts(t *testing.T) {
	t.Parallel()
	of := func(part string) Cluster { return Cluster{By: ByGenerator, Name: "g", Part: part} }
	east, west, rest := of("k\n[\"east\"]"), of("k\n[\"west\"]"), of("k\n\n[\"east\"]\n[\"north\"]")
	for _, tc := range []struct {
		a, b  Cluster
		apart bool
	}{
		{east, west, true}, {east, east, false}, {east, rest, true}, {west, rest, false}, {rest, rest, false},
		{east, of(""), false}, {east, of("other keys\n[\"west\"]"), false},
		{east, Cluster{By: ByGenerator, Name: "h", Part: west.Part}, false}, {east, Cluster{By: ByName, Name: "west"}, false},
	} {
		if tc.a.Apart(tc.b) != tc.apart || tc.b.Apart(tc.a) != tc.apart {
			t.Errorf("%q and %q: apart %t", tc.a, tc.b, !tc.apart)
		}
	}
	for c, want := range map[Cluster]string{east: "east", rest: "other clusters", of(""): "", {By: ByName, Name: "prod"}: "prod"} {
		if got := c.Word(); got != want {
			t.Errorf("%q: %q, want %q", c, got, want)
		}
	}
	var many []Cluster
	for range maxParts {
		many = append(many, of("k\n[\""+string(rune('a'+len(many)))+"\"]"))
	}
	if got := Few(many); len(got) != maxParts {
		t.Errorf("%d of %d", len(got), maxParts)
	}
	if got := Few(append(many, east)); len(got) != 1 || got[0] != of("") {
		t.Errorf("too many: %q", got)
	}
}
