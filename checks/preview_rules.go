package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/roots"
)

// ruleSet is one version of the rules: the settings, and the files that they make count.
type ruleSet struct {
	settings             *Settings
	policies, exceptions []policy.Source
}

// rulesBefore are the rules in effect.
func (r *run) rulesBefore(ctx context.Context) (*ruleSet, error) {
	return readRuleSet(r.settings, func() ([]policy.Source, error) {
		return r.policySources(ctx, r.rulesTree, r.rulesGraph, r.settings)
	}, func() ([]policy.Source, error) {
		return ruleFiles(r.rulesTree, r.rulesGraph, r.settings.Exceptions)
	})
}

// rulesAfter are the rules as the merge leaves them: of what the change touches, the head's version; of everything
// else that of the base branch, which may have moved on since the head left it. Settings that cannot be read leave
// those in effect; they fail the check elsewhere.
func (r *run) rulesAfter(ctx context.Context) (*ruleSet, error) {
	settings := r.settings
	if r.proposes(SettingsPath) {
		own, problems, err := readSettings(r.headTree)
		if err != nil {
			return nil, err
		}
		if len(problems) == 0 {
			settings = own
		}
	}
	merged := func(kept []policy.Source, err error) ([]policy.Source, error) {
		return slices.DeleteFunc(kept, r.proposesRule), err
	}
	proposed := func(own []policy.Source, err error) ([]policy.Source, error) {
		return slices.DeleteFunc(own, func(s policy.Source) bool { return !r.proposesRule(s) }), err
	}
	both := func(kept []policy.Source, err error, own []policy.Source, err2 error) ([]policy.Source, error) {
		all := append(kept, own...)
		slices.SortStableFunc(all, func(a, b policy.Source) int { return strings.Compare(a.Path, b.Path) })
		return all, errors.Join(err, err2)
	}
	return readRuleSet(settings, func() ([]policy.Source, error) {
		// The head comes first: which files the folders that it renders are made of decides which side they are from.
		own, err2 := r.policySources(ctx, r.headTree, r.headGraph, settings)
		kept, err := merged(r.policySources(ctx, r.rulesTree, r.rulesGraph, settings))
		own, err2 = proposed(own, err2)
		return both(kept, err, own, err2)
	}, func() ([]policy.Source, error) {
		kept, err := merged(ruleFiles(r.rulesTree, r.rulesGraph, settings.Exceptions))
		own, err2 := proposed(ruleFiles(r.headTree, r.headGraph, settings.Exceptions))
		return both(kept, err, own, err2)
	})
}

// proposes says whether a file is as the change has it, and not as the base branch has it now. Without a merge base
// all of the head is.
func (r *run) proposes(path string) bool { return r.change.Base == "" || r.changed[path] }

func readRuleSet(settings *Settings, policies, exceptions func() ([]policy.Source, error)) (*ruleSet, error) {
	set := &ruleSet{settings: settings}
	var err error
	if set.policies, err = policies(); err != nil {
		return nil, err
	}
	set.exceptions = set.policies
	if len(settings.Policies) > 0 || len(settings.Exceptions) > 0 {
		set.exceptions, err = exceptions()
	}
	return set, err
}

// touchesRules says, without reading a file, whether the change can touch rules at all.
func (r *run) touchesRules() bool {
	if r.headTree.ID() == r.rulesTree.ID() {
		return false
	}
	touched := func(p string) bool { return r.changed[p] }
	return r.change.Base == "" || touched(SettingsPath) || r.touchesPolicyRoots() ||
		slices.ContainsFunc(r.rulesGraph.Marked(), touched) || slices.ContainsFunc(r.headGraph.Marked(), touched)
}

// ruleDoc is one document of a file of rules: a policy, a binding, or an exception.
type ruleDoc struct {
	policy.Document
	content   string   // two documents of equal content are the same rule, whatever their files
	names     []string // the policies it is or, of an exception, is for
	exception bool
	mutates   bool
	admission bool // of admissionregistration.k8s.io: policies and bindings bear on each other
}

// id names what a document is a version of.
func (d *ruleDoc) id() string { return d.Group() + " " + d.Kind + " " + d.name() }

func (d *ruleDoc) name() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// docs lists the policies and bindings, or else the exceptions, of files. What cannot be read is reported where it is
// compiled.
func docs(sources []policy.Source, exceptions bool) []ruleDoc {
	var list []ruleDoc
	for _, s := range sources {
		documents, _ := policy.Documents(s)
		for _, document := range documents {
			d := ruleDoc{Document: document, exception: document.Kind == "PolicyException"}
			switch d.Group() {
			case "kyverno.io", "policies.kyverno.io":
			case "admissionregistration.k8s.io":
				if d.admission = strings.Contains(d.Kind, "AdmissionPolicy"); !d.admission {
					continue
				}
			default:
				continue
			}
			if d.exception != exceptions {
				continue
			}
			value := d.Value()
			data, err := json.Marshal(value)
			if err != nil {
				data = s.Data // equal to itself only
			}
			d.content = string(data)
			if d.exception && bytes.Contains(data, []byte("cleanup.kyverno.io/ttl")) {
				d.content += s.Path + string(s.Data) // its time starts with the last change of the file
			}
			d.mutates = strings.HasPrefix(d.Kind, "Mutating") || mutates(value)
			d.names = []string{d.name()}
			if d.exception {
				d.names = covered(value)
			}
			list = append(list, d)
		}
	}
	return list
}

// mutates says whether a policy of kyverno.io has a rule that changes objects.
func mutates(value any) bool {
	for _, rule := range items(value, "spec", "rules") {
		if m, _ := rule.(map[string]any); m["mutate"] != nil {
			return true
		}
	}
	return false
}

// covered lists the policies that an exception names.
func covered(value any) []string {
	var names []string
	for _, list := range [][]any{items(value, "spec", "exceptions"), items(value, "spec", "policyRefs")} {
		for _, ref := range list {
			m, _ := ref.(map[string]any)
			for _, field := range []string{"policyName", "name"} {
				if name, _ := m[field].(string); name != "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func items(value any, at ...string) []any {
	for _, field := range at {
		m, _ := value.(map[string]any)
		value = m[field]
	}
	list, _ := value.([]any)
	return list
}

// ruleEdits is how two versions of the rules differ.
type ruleEdits struct {
	policies   map[string]report.Edit    // by name
	exceptions map[string]report.Edit    // by id
	files      map[string]bool           // those that hold a document that differs, on either side
	touched    map[string]bool           // those with documents whose text differs, on either side
	places     map[string]report.Problem // where the documents of policies that differ are, at the head if there
	all        bool                      // everything may be said differently
	admission  bool
	names      map[string]bool // policies that may say something else; with all, every one may
}

// edits compares two versions of the rules, document by document: moving a file, and what comments say, changes nothing.
func edits(before, after *ruleSet) *ruleEdits {
	e := &ruleEdits{policies: map[string]report.Edit{}, exceptions: map[string]report.Edit{}, files: map[string]bool{}, touched: map[string]bool{}, names: map[string]bool{}, places: map[string]report.Problem{}}
	for _, exceptions := range []bool{false, true} {
		old, now := before.policies, after.policies
		if exceptions {
			old, now = before.exceptions, after.exceptions
		}
		old, now = differing(old, now)
		a, b := docs(old, exceptions), docs(now, exceptions)
		for _, d := range slices.Concat(a, b) {
			e.touched[d.Path] = true
		}
		gone, come := unlike(a, b)
		for _, side := range [][]ruleDoc{gone, come} {
			for _, d := range side {
				e.files[d.Path] = true
				e.all = e.all || d.mutates
				e.admission = e.admission || d.admission
				if !exceptions {
					e.places[d.name()] = report.Problem{Path: d.Path, Line: d.Line}
				}
				for _, name := range d.names {
					e.names[name] = true
				}
			}
		}
		into := e.policies
		if exceptions {
			into = e.exceptions
		}
		for _, d := range gone {
			if strings.HasSuffix(d.Kind, "Binding") {
				continue
			}
			into[e.key(&d)] = report.Removed
		}
		for _, d := range come {
			if strings.HasSuffix(d.Kind, "Binding") {
				continue
			}
			if k := e.key(&d); into[k] == report.Removed {
				into[k] = report.Changed
			} else if into[k] == "" {
				into[k] = report.Added
			}
		}
	}
	a, b := before.settings, after.settings
	e.all = e.all || !reflect.DeepEqual(a.roots(nil), b.roots(nil)) || a.Limits != b.Limits || !slices.Equal(a.Context, b.Context)
	return e
}

func (e *ruleEdits) key(d *ruleDoc) string {
	if d.exception {
		return d.id()
	}
	return d.name()
}

// any says whether the resources have to be looked at.
func (e *ruleEdits) any() bool { return e.all || len(e.names) > 0 }

// differing drops the files that both lists have with the same content.
func differing(a, b []policy.Source) (old, now []policy.Source) {
	content := func(list []policy.Source) map[string][]byte {
		m := map[string][]byte{}
		for _, s := range list {
			m[s.Path] = s.Data
		}
		return m
	}
	drop := func(list []policy.Source, other map[string][]byte) []policy.Source {
		return slices.DeleteFunc(slices.Clone(list), func(s policy.Source) bool {
			data, ok := other[s.Path]
			return ok && bytes.Equal(data, s.Data)
		})
	}
	return drop(a, content(b)), drop(b, content(a))
}

// unlike drops the documents that both lists have.
func unlike(a, b []ruleDoc) (gone, come []ruleDoc) {
	count := map[string]int{}
	for _, d := range a {
		count[d.content]++
	}
	for _, d := range b {
		if count[d.content] > 0 {
			count[d.content]--
		} else {
			come = append(come, d)
		}
	}
	for _, d := range a {
		if count[d.content] > 0 {
			count[d.content]--
			gone = append(gone, d)
		}
	}
	return gone, come
}

// concerned keeps the files with policies that may say something else, and those that change what the policies see.
func (e *ruleEdits) concerned(sources []policy.Source) []policy.Source {
	if e.all {
		return sources
	}
	keep := map[string]bool{}
	for _, d := range docs(sources, false) {
		if d.mutates || e.names[d.name()] || e.names[d.Name] || e.admission && d.admission {
			keep[d.Path] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(sources), func(s policy.Source) bool { return !keep[s.Path] })
}

// settingsEdits names the fields of the settings that differ.
func settingsEdits(a, b *Settings) []string {
	var fields []string
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			fields = append(fields, x.Type().Field(i).Tag.Get("yaml"))
		}
	}
	return fields
}

// rootsBetween answers the roots of one list that the other does not have, as folders.
func rootsBetween(of, other []roots.Root) []string {
	has := map[roots.Root]bool{}
	for _, root := range other {
		has[root] = true
	}
	paths := map[string]bool{}
	for _, root := range of {
		if !has[root] {
			paths[root.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}
