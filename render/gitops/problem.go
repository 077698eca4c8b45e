package gitops

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/tree"
)

// Cause says where a Problem or an Issue comes from, and so how a check reports it.
type Cause string

// The causes.
const (
	// Broken: the content is wrong, and would not deploy either.
	Broken Cause = "broken"
	// ClusterOnly: it depends on the cluster, the operator or another repository, or Lintel cannot evaluate it within
	// its limits. It may deploy, but what it deploys is not checked.
	ClusterOnly Cause = "cluster"
	// Suspicious: it is deployed and checked, but is probably not intended.
	Suspicious Cause = "advice"
)

// Problem says why something is not known, or is not what its author intended. Its place is the field that causes it.
type Problem struct {
	doc.Error
	Cause  Cause
	Object Reference // the object with the field
	From   string    // see Deployment.From
	State  string    // changes if the affected fields, or the files that they read, change: see reader.ask
	Open   *Open     // of the problem that only the cluster knows which Applications an ApplicationSet makes
}

// Open describes the Applications of an ApplicationSet of which only the cluster knows which exist.
type Open struct {
	Choice  string     // a digest of what selects the clusters, and of where the ApplicationSet is deployed from
	Unknown bool       // folders, namespaces or options of some Applications are not known, so these are not rendered as they are
	Own     []Override // the Applications that only the cluster knows
	Others  int        // generators that also make Applications for clusters that the repository declares
}

// Override is an Application for one cluster, which may not exist, or for all clusters without one of their own.
type Override struct {
	Key    string // where its ApplicationSet is deployed from, its generator and its merge keys
	Rest   bool   // for all clusters without an override
	Name   string // of the Application
	Folder string // of the Application, in this repository; empty if it has other sources, or several
	Exists bool   // the folder does
	How    string // a digest of how the Application deploys it
	Where  Position
}

// Alike reports whether another Application deploys the same folder, and neither their names nor the order of their generators
// tell them apart.
func (o *Open) Alike(own Override) bool {
	return slices.ContainsFunc(o.Own, func(other Override) bool {
		return other.Key != own.Key && other.Name == own.Name && other.Folder == own.Folder && !(own.Rest && other.Rest)
	})
}

// Override returns the override with a key; false where there is none.
func (o *Open) Override(key string) (Override, bool) {
	i := slices.IndexFunc(o.Own, func(own Override) bool { return own.Key == key })
	if i < 0 {
		return Override{}, false
	}
	return o.Own[i], true
}

// with returns what is open in two versions of one object, as two overlays may deploy.
func (o *Open) with(other *Open) *Open {
	if o == nil || other == nil {
		return nil
	}
	out := &Open{Choice: digest(o.Choice, other.Choice), Unknown: o.Unknown || other.Unknown, Own: slices.Concat(o.Own, other.Own),
		Others: o.Others + other.Others}
	out.Unknown = out.Unknown || slices.ContainsFunc(out.Own, func(own Override) bool { return own.Folder == "" })
	return out
}

func problemAt(p Position, cause Cause, format string, args ...any) *Problem {
	return &Problem{Error: *brokenAt(p, format, args...), Cause: cause}
}

// lacking is problemAt for an object that is not in the repository, so that it may be in the cluster.
func lacking(p Position, format string, args ...any) *Problem {
	out := problemAt(p, ClusterOnly, format, args...)
	out.Lacks = true
	return out
}

// brokenAt returns an error at a place.
func brokenAt(p Position, format string, args ...any) *doc.Error {
	return &doc.Error{Path: p.Path, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)}
}

// of sets the object of the problem, and adds it to the message.
func (p *Problem) of(object Reference) Problem {
	p.Object = object
	if object.Name != "" && !strings.Contains(p.Message, strconv.Quote(object.Name)) {
		p.Message += " (" + object.String() + ")"
	}
	return *p
}

// causeOf returns the cause of an error.
func causeOf(err error) Cause {
	if limit := (*unknowable)(nil); errors.As(err, &limit) {
		return ClusterOnly
	}
	return Broken
}

// unknowable is an error that does not mean that the content is wrong: a controller may know what Lintel does not.
type unknowable struct{ reason string }

func (e *unknowable) Error() string { return e.reason }

func unknown(format string, args ...any) error { return &unknowable{fmt.Sprintf(format, args...)} }

// problem adds a problem of what ask began, or nothing for nil. Problems with the same place and message are added
// once.
func (r *reader) problem(given *Problem) {
	if given == nil {
		return
	}
	p := given.of(r.object)
	if p.Path == "" { // the field and all its parents are missing
		p.Path, p.Line, p.Column = r.where.Path, r.where.Line, r.where.Column
	}
	p.State, p.From = r.state(), r.from
	r.problems.add(p)
}

// problems is a list without duplicates.
type problems struct {
	list []Problem
	at   map[doc.Error]int
}

func (all *problems) add(p Problem) {
	if i, ok := all.at[p.Error]; ok {
		all.list[i].State, all.list[i].Open = digest(all.list[i].State, p.State), all.list[i].Open.with(p.Open)
		return
	}
	if all.at == nil {
		all.at = map[doc.Error]int{}
	}
	all.at[p.Error] = len(all.list)
	all.list = append(all.list, p)
}

// need is something outside this repository that parameter sets depend on.
type need struct {
	at  Position
	why string
}

// needed records that the current Application depends on its need.
func (r *reader) needed() {
	if r.unknown != nil {
		r.needs[r.unknown.why] = true
	}
}

// addNeeds adds a problem for each need of an ApplicationSet's sets: it is not known which Applications they generate.
func (r *reader) addNeeds(sets []set) {
	added := map[string]bool{}
	for _, s := range sets {
		if s.needs == nil || added[s.needs.why] {
			continue
		}
		added[s.needs.why] = true
		message := "which Applications this ApplicationSet makes is not known before merge"
		if r.needs[s.needs.why] {
			message = "the folders or namespaces that this ApplicationSet deploys to depend on this generator and are not known before merge"
		}
		p := problemAt(s.needs.at, ClusterOnly, "%s: %s", s.needs.why, message)
		open := r.open
		open.Unknown = open.Unknown || r.needs[s.needs.why]
		p.Open = &open
		r.problem(p)
	}
}

// A problem is reported only if a change affects it. What is not rendered cannot be compared, so each problem has a
// state: a digest of the fields that caused it and of everything that these read from the repository.

// ask begins a new state with fields, or other values that can be JSON.
func (r *reader) ask(parts ...any) { r.asked = parts }

// also adds values to the state.
func (r *reader) also(parts ...any) { r.asked = append(r.asked, parts...) }

// reads adds files and folders of the repository to the state.
func (r *reader) reads(paths ...string) {
	for _, p := range paths {
		r.asked = append(r.asked, p, tree.State(r.Tree, p))
	}
}

func (r *reader) state() string { return digest(r.asked...) }

// digest returns a digest of values, without places unless a text is not UTF-8.
func digest(parts ...any) string {
	data, _ := json.Marshal(parts)
	if bytes.Contains(data, []byte(`\ufffd`)) { // replaces what is not UTF-8
		data = append(data, env.Encode(parts)...)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// readsChart adds the folder of a chart to the state, and the folders of its local dependencies. It returns these
// folders.
func (r *reader) readsChart(dir string) (folders []string) {
	for queue := []string{dir}; len(queue) > 0 && len(folders) < MaxDepth; queue = queue[1:] {
		dir := queue[0]
		if slices.Contains(folders, dir) {
			continue
		}
		folders = append(folders, dir)
		r.reads(dir)
		for _, file := range []string{"Chart.yaml", "requirements.yaml"} {
			list, _ := r.readFile(path.Join(dir, file))
			for _, d := range first(list).elements("dependencies") {
				if below, ok := strings.CutPrefix(d.text("repository"), "file://"); ok {
					if clean, ok := tree.Clean(path.Join(dir, below)); ok {
						queue = append(queue, clean)
					}
				}
			}
		}
	}
	return folders
}
