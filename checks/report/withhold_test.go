package report

import "testing"

// Places in other repositories are recognized in all forms of addresses, and own places are not mistaken for them.
func TestWithholdPlaces(t *testing.T) {
	for path, foreign := range map[string]bool{
		"https://git.example/octo/b@v1//app/pod.yaml": true, "git@git.example:octo/b.git@v1//app/pod.yaml": true,
		"ssh://git@git.example/octo/b@v1//app/pod.yaml": true, "apps/a@b:c.yaml": false, "a:b@c.yaml": false,
		"apps/pod.yaml": false, "a@b/c:d.yaml": false,
	} {
		const url = "git@git.example:octo/b.git"
		own := &Origin{Path: "apps/p.yaml", How: Identity, Chain: []Place{{Path: path, StartLine: 1, EndLine: 1}}}
		r := &Report{RemoteSources: []RemoteSource{{URL: url, Roots: []string{"apps"}}},
			Findings: []Finding{{Roots: []string{"apps"}, Origin: own}},
			Differences: []Difference{{Roots: []string{"apps"}, Hunks: []DiffHunk{{Lines: []DiffLine{{Sign: "+", Text: "a: 1",
				Origin: own}}}}}}}
		got := r.Withhold([]string{url})
		if places, lines := len(got.Findings[0].Origin.Chain), got.Differences[0].Withheld; (places == 0) != foreign ||
			(lines == 1) != foreign {
			t.Errorf("%s: %d places stay, %d lines go", path, places, lines)
		}
	}
}

// For a root of a repository that the reader may not read, the number of changed resources is shown, but not their
// images.
func TestWithheldRootsNameNoImages(t *testing.T) {
	images := []ImageChange{{From: "secret:1", To: "secret:2"}}
	r := &Report{RemoteSources: []RemoteSource{{URL: "https://github.com/org/closed", Roots: []string{"hidden"}}},
		RootChanges: []RootChange{{Root: "hidden", Changed: 2, Images: images}, {Root: "open", Changed: 1, Images: images}}}
	out := r.Withhold([]string{"https://github.com/org/closed"})
	if got := out.RootChanges; got[0].Images != nil || got[0].Changed != 2 || len(got[1].Images) != 1 {
		t.Errorf("%+v", got)
	}
	if len(r.RootChanges[0].Images) != 1 {
		t.Error("the report itself was changed")
	}
}
