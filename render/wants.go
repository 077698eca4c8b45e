package render

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/remote"
)

// wants are the remote sources that a rendering requested.
type wants map[remote.Want]asked

// asked is the digest of a requested source, and the place of the request.
type asked struct {
	digest string // see remote.Sources.Digest
	// at is the line of this repository that requests it. It has no path where the object that deploys the root
	// requests it, since other objects may share the rendering.
	at gitops.Position
}

// placedWant is a want with the line that requests it.
type placedWant struct {
	Want remote.Want     `json:"want"`
	At   gitops.Position `json:"at"`
}

// add records a want. The first place that requests it is kept.
func (w wants) add(sources *remote.Sources, want remote.Want, at gitops.Position) {
	if _, known := w[want]; !known {
		w[want] = asked{sources.Digest(want), at}
	}
}

// placed lists the wants that a line of the repository requests.
func (w wants) placed() (list []placedWant) {
	for _, want := range w.sorted() {
		if at := w[want].at; at.Path != "" {
			list = append(list, placedWant{want, at})
		}
	}
	return list
}

func (w wants) sorted() []remote.Want { return slices.SortedFunc(maps.Keys(w), remote.Compare) }

// wantsOf returns the wants among the questions of a cached rendering, with their places.
func wantsOf(questions env.Asked, placed []placedWant) wants {
	w := wants{}
	for q, digest := range questions {
		var want remote.Want
		if q.Kind == env.Source && json.Unmarshal([]byte(q.Name), &want) == nil {
			w[want] = asked{digest: digest}
		}
	}
	for _, one := range placed {
		w[one.Want] = asked{w[one.Want].digest, one.At}
	}
	return w
}

// Use is a remote source that a root uses.
type Use struct {
	remote.Entry
	Where gitops.Position // the line of this repository that chooses its version
}

// Uses lists the fetched remote sources of a rendering, sorted. as is the target whose object requests them, since
// several targets may share a rendering. Sources that could not be fetched are left out.
func (r *Rendering) Uses(as Target) (list []Use) {
	by := as.By
	for _, want := range r.wants.sorted() {
		one := r.wants[want]
		var e remote.Entry
		if json.Unmarshal([]byte(one.digest), &e) != nil || e.Failure != nil {
			continue
		}
		at := one.at
		switch {
		case at.Path != "" || by == nil:
		case by.Release != nil:
			at = askedAt(by.Release, want)
		case by.External != nil:
			at = by.External.Where
		}
		list = append(list, Use{e, at})
	}
	return list
}

// Repositories lists the git repositories that fields of a rendering may come from: its remote sources, and those of
// roots whose objects its chart looked up. Possible passwords are removed from the addresses.
func (r *Renderer) Repositories(out *Rendering) (urls []string) {
	from := []wants{out.wants}
	for _, l := range out.lookups {
		for _, o := range r.lookups.declaredAs(l.APIVersion, l.Kind, l.Namespace, l.Name) {
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

// askedAt returns the position at which a release requests a source.
func askedAt(release *gitops.Release, want remote.Want) gitops.Position {
	if want != release.Chart.Want {
		for _, l := range slices.Concat(release.Layers, release.Defaults) {
			if l.Want == want {
				return l.Where
			}
		}
	}
	return release.Chart.Where
}

// ChartFile returns Chart.yaml of a remote chart, nil where it cannot be read.
func (r *Renderer) ChartFile(u Use) []byte {
	found, err := r.mounts.sources.Get(u.Want)
	if err != nil {
		return nil
	}
	data, _, err := found.Tree.ReadFile("Chart.yaml")
	if err != nil {
		return nil
	}
	return data
}
