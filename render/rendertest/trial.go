package rendertest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
)

// trial is one place and the fields that should come from it.
type trial struct {
	tries  [][]edit // sets of edits to try in this order until one decides
	fields []*attempt
	alone  bool // changed in a rendering of its own, since other parts refer to it
}

// question is a question about a field.
type question string

// The questions. Their text is the end of the class's name.
const (
	value   question = ""         // write another scalar at the place: does the field change?
	list    question = " list"    // write another key before the list: is the list gone?
	missing question = " missing" // add the missing field at the place named for it: is it there?
	removed question = " removed" // remove the entry: is the field gone, or does it have its former value?
	chain   question = " chain"   // remove the layers that wrote the field: does it have the value that the chain says?
	link    question = " link"    // is the former value of the field at the place of the link?
	span    question = " span"    // write another text at the place of a part: does this part change, and nothing else?
)

// attempt is one question about one field.
type attempt struct {
	Field
	resource int
	question question
	kind     yaml.Kind
	want     string // for a chain: the expected value of the field afterwards
	front    string // for a span: the text before it
	back     string // and after it
}

// expected returns the pointer where an edit's mark should appear.
func (a *attempt) expected(e edit) string {
	if a.question == missing {
		return a.Pointer + "/" + e.mark
	}
	return a.Pointer
}

// judge decides the outcome of an attempt from the renderings before and after an edit.
func (a *attempt) judge(before, after *rendered, e edit) Outcome {
	if after == nil || len(after.fields) > len(before.fields) {
		return Undecided
	}
	if len(after.fields) < len(before.fields) {
		if (e.drop > 0 || a.question == value) && !slices.Contains(after.kinds, before.kinds[a.resource]) {
			return Confirmed // it was removed with its resource
		}
		return Undecided
	}
	now, ok := after.fields[a.resource][a.Pointer]
	good := !ok || now != before.fields[a.resource][a.Pointer]
	switch a.question {
	case span:
		// An images entry that finds the image by its name does not find the changed name: then the text that it wrote
		// is gone, too.
		good = good && strings.HasPrefix(now, a.front) && (e.carries(now) || strings.HasSuffix(now, a.back))
	case missing:
		if e.drop == 0 {
			good = after.fields[a.resource][a.expected(e)] == e.mark
		}
	case list:
		above := a.Pointer[:strings.LastIndexByte(a.Pointer, '/')]
		good = good || above != "" && after.fields[a.resource][above] != before.fields[a.resource][above]
	case removed:
		before := len(a.Place.Chain) > 0 && now == a.Place.Chain[0].Value
		switch {
		case e.drop == 0 && good, !good && !before && a.kind != yaml.ScalarNode:
			return Overwritten // other layers write it as well
		case before:
			good = true
		}
	case chain:
		// The name may end with a hash of the content.
		good = a.became(after) || ok && strings.HasPrefix(now, a.want+"-") && len(now) == len(a.want)+len("-0123456789")
		if !good && now == "null" {
			return Undecided // a patch operation without its value
		}
	}
	if good {
		return Confirmed
	}
	return Refuted
}

var index = regexp.MustCompile(`/[0-9]+(/|$)`)

// became reports whether the field has the value that its chain says, at any index of its list.
func (a *attempt) became(after *rendered) bool {
	if after.fields[a.resource][a.Pointer] == a.want {
		return true
	}
	if !index.MatchString(a.Pointer) {
		return false
	}
	shape := index.ReplaceAllString(a.Pointer, "/#$1")
	for pointer, now := range after.fields[a.resource] {
		if now == a.want && index.ReplaceAllString(pointer, "/#$1") == shape {
			return true
		}
	}
	return false
}

// collect gets the place of each field and prepares the trials.
func (p *prover) collect(rendering *render.Rendering) {
	byClass := map[Class][]*attempt{}
	add := func(i int, f render.Field, q question, place origin.Place, role, want string) *attempt {
		class := Class{How: place.How, Role: role + string(q)}
		a := &attempt{resource: i, question: q, kind: f.Node.Kind, want: want, Field: Field{
			Root: p.root.Path, Resource: p.base.kinds[i], Pointer: f.Pointer, Value: f.Node.Value, Place: place, Class: class}}
		byClass[class] = append(byClass[class], a)
		return a
	}
	for i, res := range rendering.Resources {
		for _, f := range res.Fields() {
			place := res.Origin(f.Pointer)
			switch {
			case f.Scalar():
				add(i, f, value, place, place.Role, "")
				for _, s := range place.Spans {
					a := add(i, f, span, s.Place, s.Place.Role, "")
					a.front, a.back = f.Node.Value[:s.From], f.Node.Value[s.To:]
				}
				for k, l := range place.Chain {
					if l.Value == "" || !prints(l.Role) {
						break
					}
					if !prints(place.Role) {
						continue
					}
					add(i, f, chain, place, place.Role, l.Value)
					a := add(i, f, link, place, l.Role, l.Value)
					a.Place = origin.Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, How: place.How, Role: l.Role,
						Chain: place.Chain[k+1:]}
				}
			case f.Node.Kind == yaml.MappingNode:
				at := res.Origin(f.Pointer + "/missing")
				add(i, f, missing, at, at.Role, "")
			case !lastIsIndex(f.Pointer):
				add(i, f, list, place, place.Role, "")
			}
			if f.Pointer != "/apiVersion" && f.Pointer != "/kind" && f.Pointer != "/type" && f.Pointer != "/metadata/name" &&
				f.Pointer != "/metadata" {
				add(i, f, removed, place, place.Role, "")
			}
		}
	}
	at := map[string]*trial{}
	for id, a := range p.sample(byClass) {
		if a.question == link {
			p.checkLink(a)
			continue
		}
		key := fmt.Sprint(a.question, a.Place.Missing, a.Place.Chain, a.Place.Path, a.Place.StartLine, a.Place.StartColumn,
			a.Place.EndColumn, a.Place.EndLine, a.want, lastIsIndex(a.Pointer), a.Pointer == "/type")
		t := at[key]
		if t == nil {
			t = &trial{tries: p.tries(a, id)}
			at[key] = t
			p.trials = append(p.trials, t)
		}
		t.fields = append(t.fields, a)
		t.alone = t.alone || a.question != value && a.question != missing || identifies(a.Pointer)
	}
}

// prints reports whether the lines of a role contain the value itself, so that removing them restores the former value.
// The place of a replacement or a var is that of its source.
func prints(role string) bool { return role != "replacements" && role != "vars" }

// tries returns the edits that answer a question, the most reliable first.
func (p *prover) tries(a *attempt, id int) (tries [][]edit) {
	lines := p.text(a.Place.Path)
	remove := func(limit int, element bool) {
		all := removals(lines, a.Place.Path, a.Place.StartLine, element)
		for _, e := range all[:min(limit, len(all))] {
			tries = append(tries, []edit{e})
		}
	}
	switch a.question {
	case missing:
		if !written(a.Place.Role) && !isKey(lines, a.Place) {
			remove(3, true) // there is no map to add to: the field has to disappear with the entry that created it
			return tries
		}
		holder := strings.TrimSuffix(a.Pointer+"/missing", a.Place.Missing)
		// A key may name an element that a patch adds.
		for _, element := range []bool{lastIsIndex(holder) || holder == "", false} {
			if e, ok := insertion(lines, a.Place, id, element); ok && !index.MatchString(a.Place.Missing) {
				tries = append(tries, []edit{e})
			}
		}
	case removed:
		remove(2, lastIsIndex(a.Pointer) || a.Place.StartColumn == 0)
		if e, ok := newEdit(lines, a.Place, id); ok && a.kind == yaml.ScalarNode {
			tries = append(tries, []edit{e})
		}
	case chain:
		for level := range 5 {
			var edits []edit
			for k := -1; k < len(a.Place.Chain); k++ {
				path, line := a.Place.Path, a.Place.StartLine
				if k >= 0 {
					path, line = a.Place.Chain[k].Path, a.Place.Chain[k].StartLine
					if a.Place.Chain[k].Value == a.want {
						break
					}
				}
				if all := removals(p.text(path), path, line, false); len(all) > 0 {
					edits = append(edits, all[min(level, len(all)-1)])
				}
			}
			if len(edits) > 0 {
				tries = append(tries, slices.Compact(edits))
			}
		}
	case span:
		if e, ok := newEdit(lines, a.Place, id); ok {
			tries = append(tries, []edit{e})
		}
	case value, list:
		e, ok := newEdit(lines, a.Place, id)
		switch {
		// The type of a generated Secret, which nobody wrote.
		case a.Pointer == "/type" && a.Place.StartColumn == 0 && a.Place.StartLine <= len(lines):
			if e, ok := insertion(lines, a.Place, id, true); ok {
				e.text = strings.Replace(e.text, e.mark, "type", 1)
				tries = append(tries, []edit{e})
			}
			return tries
		case !ok || nobodyWrote(a.Field):
			remove(3, true)
			return tries
		}
		tries = append(tries, []edit{e})
		if identifies(a.Pointer) && a.Place.StartColumn > 0 {
			line := []rune(lines[a.Place.StartLine-1])
			token := string(line[a.Place.StartColumn-1 : a.Place.EndColumn-1])
			if a.Pointer == "/kind" {
				e.text, e.mark = otherKind(token), ""
			}
			files := map[string][]string{}
			for _, name := range p.written {
				files[name] = p.text(name)
			}
			tries = append(tries, append([]edit{e}, renames(files, token, strings.Trim(e.text, `"'`), e)...))
		}
	}
	return tries
}

// written reports whether a role is that of a file with the same fields as the resource.
func written(role string) bool { return role == "manifest" || role == "patch" }

// isKey reports whether the text at a place is the key of a map.
func isKey(lines []string, p origin.Place) bool {
	if p.EndColumn == 0 || p.StartLine > len(lines) {
		return false
	}
	line := []rune(lines[p.StartLine-1])
	return p.EndColumn <= len(line) && strings.TrimLeft(string(line[p.EndColumn-1:]), " ")[:1] == ":"
}

// otherKind returns a kind of the same shape.
func otherKind(kind string) string {
	switch kind {
	case "Deployment":
		return "ReplicaSet"
	case "StatefulSet", "DaemonSet":
		return "Deployment"
	case "Role":
		return "ClusterRole"
	case "RoleBinding":
		return "ClusterRoleBinding"
	}
	return kind + "Other"
}

// checkLink checks whether the lines of a link contain the value that it claims, or a part of it.
func (p *prover) checkLink(a *attempt) {
	lines := p.text(a.Place.Path)
	a.Outcome, a.Reason = Refuted, fmt.Sprintf("the link's lines do not hold %q", a.want)
	if a.Place.StartLine >= 1 && a.Place.EndLine <= len(lines) {
		held := strings.Join(lines[a.Place.StartLine-1:a.Place.EndLine], "\n")
		words := strings.FieldsFunc(held, func(r rune) bool { return strings.ContainsRune(" \"',[]{}=\n\r", r) })
		if strings.Contains(held, a.want) || a.Place.EndLine > a.Place.StartLine ||
			slices.ContainsFunc(words,
				func(w string) bool { return strings.Contains(a.want, w) || (edit{mark: w}).carries(a.want) }) {
			a.Outcome, a.Reason = Confirmed, ""
		}
	}
	p.report.Fields = append(p.report.Fields, a.Field)
}

// sample chooses questions so that every class is covered.
func (p *prover) sample(byClass map[Class][]*attempt) []*attempt {
	random := rand.New(rand.NewPCG(1, uint64(len(p.root.Path))))
	var classes []Class
	total := 0
	for c, list := range byClass {
		classes = append(classes, c)
		total += len(list)
	}
	slices.SortFunc(classes, func(a, b Class) int { return strings.Compare(a.String(), b.String()) })
	limit := p.options.Fields
	if limit <= 0 {
		limit = total
	}
	for _, c := range classes {
		list := byClass[c]
		if limit < total {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	var picked []*attempt
	for i := 0; len(picked) < min(limit, total); i++ {
		for _, c := range classes {
			if i < len(byClass[c]) && len(picked) < limit {
				picked = append(picked, byClass[c][i])
			}
		}
	}
	return picked
}

func lastIsIndex(pointer string) bool {
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// identifies reports whether other parts of a build may refer to a field.
func identifies(pointer string) bool {
	switch pointer[strings.LastIndexByte(pointer, '/')+1:] {
	case "name", "kind", "apiVersion", "namespace":
		return true
	}
	return false
}

// nobodyWrote reports whether kustomize added a field itself to a resource that it generated.
func nobodyWrote(f Field) bool {
	return f.Place.StartColumn == 0 && (f.Pointer == "/kind" || f.Pointer == "/apiVersion")
}
