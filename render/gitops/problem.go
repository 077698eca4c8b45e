package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// Cause is what a Problem or an Issue comes from, and so what it means for a check.
type Cause string

// The causes.
const (
	// Broken: what is written is wrong. It would not deploy either.
	Broken Cause = "broken"
	// ClusterOnly: it depends on the cluster, the operator or another repository, or it is beyond what Lintel evaluates
	// or its limits. It may well deploy; what it deploys is not checked.
	ClusterOnly Cause = "cluster"
	// Suspicious: it is deployed, and checked, all the same; it is probably not what was meant.
	Suspicious Cause = "advice"
)

// Problem is why something is not known, or not as a controller would have it. Its place is the field that asks.
type Problem struct {
	doc.Error
	Cause  Cause
	Object Reference // the object that asks
	From   string    // as in Deployment
	State  string    // another one where what is asked for is, or what that reads: see reader.ask
}

func problemAt(p Position, cause Cause, format string, args ...any) *Problem {
	return &Problem{Error: *brokenAt(p, format, args...), Cause: cause}
}

// brokenAt is an error at a place.
func brokenAt(p Position, format string, args ...any) *doc.Error {
	return &doc.Error{Path: p.Path, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)}
}

// of names the object that asks, in the message too.
func (p *Problem) of(object Reference) Problem {
	p.Object = object
	if object.Name != "" && !strings.Contains(p.Message, strconv.Quote(object.Name)) {
		p.Message += " (" + object.String() + ")"
	}
	return *p
}

// causeOf returns the cause that an error is.
func causeOf(err error) Cause {
	if limit := (*unknowable)(nil); errors.As(err, &limit) {
		return ClusterOnly
	}
	return Broken
}

// unknowable is an error that says nothing against what is written: a controller may well know what Lintel does not.
type unknowable struct{ reason string }

func (e *unknowable) Error() string { return e.reason }

func unknown(format string, args ...any) error { return &unknowable{fmt.Sprintf(format, args...)} }

// problem adds a problem of what is asked at the moment, nil for none. What several ask in the same words is one problem.
func (r *reader) problem(given *Problem) {
	if given == nil {
		return
	}
	p := given.of(r.object)
	if p.Path == "" { // of what is missing with all that it would be in
		p.Path, p.Line, p.Column = r.where.Path, r.where.Line, r.where.Column
	}
	p.State, p.From = r.state(), r.from
	r.problems.add(p)
}

// problems are those of some objects, each once.
type problems struct {
	list []Problem
	at   map[doc.Error]int
}

func (all *problems) add(p Problem) {
	if i, ok := all.at[p.Error]; ok {
		all.list[i].State = digest(all.list[i].State, p.State)
		return
	}
	if all.at == nil {
		all.at = map[doc.Error]int{}
	}
	all.at[p.Error] = len(all.list)
	all.list = append(all.list, p)
}

// need is something that sets of parameters depend on and that is not in this repository.
type need struct {
	at  Position
	why string
}

// needed reports that something of the Application at hand depends on such a thing.
func (r *reader) needed() {
	if r.unknown != nil {
		r.needs[r.unknown.why] = true
	}
}

// addNeeds adds a problem for each kind of thing that sets of an ApplicationSet depend on: which Applications they make
// is not known.
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
		r.problem(problemAt(s.needs.at, ClusterOnly, "%s: %s", s.needs.why, message))
	}
}

// What is not rendered is told only of what a change touches. Nobody can render it to see that, so each problem has a
// state: a digest of what is asked for, and of whatever of this repository it reads.

// ask begins what is asked at the moment: fields, or other values that can be JSON.
func (r *reader) ask(parts ...any) { r.asked = parts }

// also adds to what is asked.
func (r *reader) also(parts ...any) { r.asked = append(r.asked, parts...) }

// reads adds files and folders of the repository to what is asked.
func (r *reader) reads(paths ...string) {
	for _, p := range paths {
		r.asked = append(r.asked, p, tree.State(r.Tree, p))
	}
}

func (r *reader) state() string { return digest(r.asked...) }

// digest distinguishes values.
func digest(parts ...any) string {
	values := make([]any, len(parts))
	for i, part := range parts {
		values[i] = part
		if f, ok := part.(*field); ok {
			values[i] = f.plain()
		}
	}
	data, _ := json.Marshal(values)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readsChart adds the folder of a chart to what is asked, and those of this repository that it depends on. It returns
// them.
func (r *reader) readsChart(dir string) (folders []string) {
	seen := map[string]bool{}
	for queue := []string{dir}; len(queue) > 0 && len(seen) < MaxDepth; queue = queue[1:] {
		dir := queue[0]
		if seen[dir] {
			continue
		}
		seen[dir] = true
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

// fixed returns the part of a pattern's path before its first wildcard.
func fixed(pattern string) string {
	folder, _ := wild(pattern)
	return folder
}
