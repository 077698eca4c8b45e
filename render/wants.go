package render

import (
	"encoding/json"
	"slices"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/remote"
)

// wants are what a rendering asked for from outside.
type wants map[remote.Want]asked

// asked is what a want came to, and who asks for it.
type asked struct {
	digest string // see remote.Sources.Digest
	// at is the line of this repository that asks for it. Without a path it is the object that deploys the root: of
	// another one the same rendering is told.
	at gitops.Position
}

// rememberedWant is one of them.
type rememberedWant struct {
	Want   remote.Want `json:"want"`
	Digest string      `json:"digest,omitempty"`
	Path   string      `json:"path,omitempty"`
	Line   int         `json:"line,omitempty"`
	Column int         `json:"column,omitempty"`
}

// add notes a want. Of several places that ask for it the first counts.
func (w wants) add(sources *remote.Sources, want remote.Want, at gitops.Position) {
	if _, known := w[want]; !known {
		w[want] = asked{sources.Digest(want), at}
	}
}

// same reports whether all of it came to the same. What nobody has fetched yet is asked for again.
func (w wants) same(sources *remote.Sources) bool {
	same := true
	for want, one := range w {
		if sources.Digest(want) != one.digest {
			same = false
		} else if one.digest == "" {
			_, _ = sources.Get(want)
		}
	}
	return same
}

func (w wants) list() (list []rememberedWant) {
	for want, one := range w {
		list = append(list, rememberedWant{want, one.digest, one.at.Path, one.at.Line, one.at.Column})
	}
	slices.SortFunc(list, func(a, b rememberedWant) int { return remote.Compare(a.Want, b.Want) })
	return list
}

func recalledWants(list []rememberedWant) wants {
	w := wants{}
	for _, one := range list {
		w[one.Want] = asked{one.Digest, gitops.Position{Path: one.Path, Line: one.Line, Column: one.Column}}
	}
	return w
}

// Use is something from outside that a root is made of.
type Use struct {
	remote.Entry
	Where gitops.Position // the line of this repository that chooses what it is
}

// Uses lists what a rendering of this renderer is made of that came from outside, by their wants. What could not be had
// is not among it.
func (r *Renderer) Uses(out *Rendering) (list []Use) {
	var release *gitops.Release
	var elsewhere *gitops.Elsewhere
	if one := r.set.Deployment(out.Root); out.Root.Object != "" && one != nil {
		release = one.Release
		elsewhere = one.Elsewhere
	}
	for _, w := range out.wants.list() {
		var e remote.Entry
		if json.Unmarshal([]byte(w.Digest), &e) != nil || e.Failure != nil {
			continue
		}
		at := gitops.Position{Path: w.Path, Line: w.Line, Column: w.Column}
		switch {
		case at.Path != "":
		case release != nil:
			at = asking(release, w.Want)
		case elsewhere != nil:
			at = elsewhere.Where
		}
		list = append(list, Use{e, at})
	}
	return list
}

// Repositories lists the git repositories that something in a rendering of this renderer may be written in: of what it
// is made of, and of what its chart looked up in other roots. Addresses are without what may be a password.
func (r *Renderer) Repositories(out *Rendering) (urls []string) {
	from := []wants{out.wants}
	for _, t := range out.told {
		for _, o := range r.declaredAs(t.Lookup.APIVersion, t.Lookup.Kind, t.Lookup.Namespace, t.Lookup.Name) {
			from = append(from, o.from)
		}
	}
	for _, w := range from {
		for want, one := range w {
			var e remote.Entry
			if want.Kind == remote.Git && json.Unmarshal([]byte(one.digest), &e) == nil && e.Failure == nil {
				urls = append(urls, remote.Redacted(want.URL))
			}
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// asking is where a release asks for something.
func asking(release *gitops.Release, want remote.Want) gitops.Position {
	if want != release.Chart.Want {
		for _, l := range slices.Concat(release.Layers, release.Defaults) {
			if l.Want == want {
				return l.Where
			}
		}
	}
	return release.Chart.Where
}

// ChartFile returns Chart.yaml of a chart from outside, nil where that cannot be read.
func (r *Renderer) ChartFile(u Use) []byte {
	found, err := r.outside.sources.Get(u.Want)
	if err != nil {
		return nil
	}
	data, _, err := found.Tree.ReadFile("Chart.yaml")
	if err != nil {
		return nil
	}
	return data
}
