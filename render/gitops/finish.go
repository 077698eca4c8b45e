package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// Write says that a controller wrote a field of a resource after the build.
type Write struct {
	Pointer string     // RFC 6901, into the resource
	Role    string     // Substitute, "commonMetadata" or "destination"
	By      []Position // where the written values are: of the variables, the label, or the namespace
	Partly  bool       // the field keeps its own place, followed by By; otherwise By is its place
	Parts   []Part     // of a text with variables; none where the bytes are not known
	Former  string     // the pointer with the key as it was written, if the key has variables
}

// Part is the bytes of a text that have the value of a variable.
type Part struct {
	From, To int
	By       Position
}

// Substitute is the role of a place where a variable of Flux gets its value.
const Substitute = "substitute"

// variable is a text that is nothing but a variable, perhaps with a default.
var variable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*(:?[=-][^{}]*)?\}$`)

// Issue is a problem with a field of a resource. The caller finds the place of the field.
type Issue struct {
	Pointer string
	Message string
	Cause   Cause
	Value   bool // the value of the field is not known
}

// FinishOptions are what resources are finished with.
type FinishOptions struct {
	// Namespaced reports whether a kind is namespaced. nil: as kustomize knows, and true for kinds that it does not
	// know.
	Namespaced func(apiVersion, kind string) bool
	Limits     Limits
	CRD        bool // the resource is from crds/ of a chart
}

// substituteKey is the label or annotation with which Flux replaces no variables of a resource.
const substituteKey = fluxGroup + "/substitute"

// Finish changes a built resource as the controller does before it applies it: Flux' variable substitution and common
// metadata, what Helm adds to the objects of a release, or Argo CD's destination namespace. It changes the nodes in place. A
// changed scalar keeps its line and column.
func (d *Deployment) Finish(resource *yaml.Node, o FinishOptions) ([]Write, []Issue) {
	for resource != nil && resource.Kind == yaml.DocumentNode && len(resource.Content) > 0 {
		resource = resource.Content[0]
	}
	if resource = doc.Deref(resource); resource == nil || resource.Kind != yaml.MappingNode {
		return nil, nil
	}
	f := &finisher{Deployment: d, options: o, limits: o.Limits.withDefaults(), done: map[*yaml.Node]bool{}}
	if d.Substitute.Active() && metadataOf(resource, "labels", substituteKey) != "disabled" &&
		metadataOf(resource, "annotations", substituteKey) != "disabled" {
		f.node(resource, "", 0)
	}
	f.metadata(resource, "labels", d.Metadata.Labels)
	f.metadata(resource, "annotations", d.Metadata.Annotations)
	if !o.CRD && metadataOf(resource, "annotations", helmHook) == "" {
		f.metadata(resource, "labels", d.Tracking.Labels)
		f.metadata(resource, "annotations", d.Tracking.Annotations)
	}
	f.namespace(resource)
	return f.writes, f.issues
}

// metadataOf returns a label or an annotation of a resource.
func metadataOf(resource *yaml.Node, in, key string) string {
	_, metadata := doc.Field(resource, "metadata")
	_, values := doc.Field(metadata, in)
	return doc.Text(values, key)
}

type finisher struct {
	*Deployment
	options FinishOptions
	limits  Limits
	writes  []Write
	issues  []Issue
	done    map[*yaml.Node]bool
}

// node replaces variables in the keys and scalars of a tree. Aliases are skipped, as they follow their anchors.
func (f *finisher) node(n *yaml.Node, pointer string, depth int) {
	if n.Kind == yaml.AliasNode || depth > MaxDepth || f.done[n] {
		return
	}
	f.done[n] = true
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range doc.Pairs(n) {
			if strings.Contains(key.Value, "$") && key.Kind == yaml.ScalarNode {
				former := pointer + "/" + jsonpointer.Escape(key.Value)
				if text, e, ok := f.replace(key.Value, former); ok {
					key.Value = text
					f.writes = append(f.writes, Write{Pointer: pointer + "/" + jsonpointer.Escape(text), Role: Substitute,
						By: e.places(), Partly: true, Former: former})
				}
			}
			f.node(value, pointer+"/"+jsonpointer.Escape(key.Value), depth+1)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			f.node(c, pointer+"/"+strconv.Itoa(i), depth+1)
		}
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "${") || strings.Contains(n.Value, "$$") {
			f.scalar(n, pointer)
		}
	}
}

// replace returns a text with its variables replaced, and the substitution.
func (f *finisher) replace(text, pointer string) (string, *expansion, bool) {
	e := &expansion{text: text, variables: f.Substitute.Variables, partial: len(f.Substitute.Unread) > 0,
		limit: f.limits.TextBytes}
	out, err := e.run()
	if err != nil {
		f.issues = append(f.issues, Issue{Pointer: pointer, Message: err.Error(), Cause: causeOf(err)})
		return text, e, false
	}
	for _, name := range unique(e.unset) {
		f.issues = append(f.issues, Issue{Pointer: pointer, Cause: Suspicious,
			Message: fmt.Sprintf("nothing sets the variable %.80q: Flux replaces it with an empty string", name)})
	}
	for _, name := range unique(e.unread) {
		f.issues = append(f.issues, Issue{Pointer: pointer, Cause: ClusterOnly, Value: true,
			Message: fmt.Sprintf("the variable %.80q may be set in the cluster: its value is not known before merge", name)})
	}
	return out, e, out != text
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// scalar replaces variables in one value. Flux replaces them in the printed manifest and parses it again, so a value
// can change its type: a text that is printed without quotes may become a number, a boolean, a list or null.
func (f *finisher) scalar(n *yaml.Node, pointer string) {
	printed, _ := sigsyaml.Marshal(map[string]string{"v": n.Value}) // any text can be printed
	whole := variable.MatchString(n.Value)
	text, e, changed := f.replace(string(printed), pointer)
	if !changed {
		return
	}
	useNumber := func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }
	var outer map[string]any
	if doc.Vet("", []byte(text), f.limits.Source) != nil ||
		sigsyaml.Unmarshal([]byte(text), &outer, useNumber) != nil || len(outer) != 1 || !has(outer, "v") {
		f.issues = append(f.issues, Issue{Pointer: pointer, Cause: Broken,
			Message: "is not valid YAML once its variables are replaced: quote the value"})
		return
	}
	become(n, outer["v"])
	w := Write{Pointer: pointer, Role: Substitute, By: e.places(), Partly: !whole}
	value, _ := outer["v"].(string)
	if before := strings.Index(text[len("v:"):], value) + len("v:"); before > len("v:") { // otherwise it is not on one line as it is
		for _, p := range e.parts {
			w.Parts = append(w.Parts, Part{p.From - before, p.To - before, p.By})
		}
	}
	f.writes = append(f.writes, w)
}

// become gives a node another value. It keeps its line and column, and the quotes of a text.
func become(n *yaml.Node, v any) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	now := nodeOf(v)
	for c := range doc.Nodes(now) {
		c.Line, c.Column = n.Line, n.Column
	}
	if now.Tag == "!!str" && n.Style&quoted != 0 {
		now.Style = n.Style
	}
	n.Kind, n.Style, n.Tag, n.Value, n.Alias, n.Content = now.Kind, now.Style, now.Tag, now.Value, nil, now.Content
}

// child returns the map at a key. It adds one where the key is missing, and returns nil where the value is not a map.
func child(n *yaml.Node, key string) *yaml.Node {
	_, v := doc.Field(n, key)
	if v == nil || v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" {
		v = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		put(n, key, v)
	}
	if v.Kind != yaml.MappingNode {
		return nil
	}
	return v
}

func put(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, nodeOf(key), v)
}

func (f *finisher) metadata(resource *yaml.Node, key string, values map[string]Value) {
	if len(values) == 0 {
		return
	}
	metadata := child(resource, "metadata")
	if metadata == nil {
		return
	}
	m := child(metadata, key)
	if m == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f.set(m, name, values[name].Text, Write{Pointer: "/metadata/" + key + "/" + jsonpointer.Escape(name),
			Role: "commonMetadata", By: []Position{values[name].Where}})
	}
}

func (f *finisher) set(m *yaml.Node, name, text string, w Write) {
	put(m, name, nodeOf(text))
	f.writes = append(f.writes, w)
}

// namespace sets the namespace of the destination on a namespaced resource that names none
// (https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/).
func (f *finisher) namespace(resource *yaml.Node) {
	if f.Namespace == "" {
		return
	}
	namespaced := f.options.Namespaced
	if namespaced == nil {
		namespaced = func(apiVersion, kind string) bool { return !kustomization.ClusterScoped(apiVersion, kind) }
	}
	metadata := child(resource, "metadata")
	if metadata == nil || doc.Text(metadata, "namespace") != "" ||
		!namespaced(doc.Text(resource, "apiVersion"), doc.Text(resource, "kind")) {
		return
	}
	f.set(metadata, "namespace", f.Namespace, Write{Pointer: "/metadata/namespace", Role: "destination",
		By: []Position{f.NamespaceWhere}})
}

// Flux' post-build substitution implements part of the shell's parameter expansion
// (https://github.com/fluxcd/pkg/tree/main/envsubst#supported-functions). Flux' own library parses and evaluates each
// ${}. The loop over the parsed text is Lintel's: it records which variables are used, keeps a ${} whose value only the
// cluster knows, and limits each step in advance.

var (
	errSubstitution = errors.New("a ${} is not written as Flux reads it")
	errLongText     = unknown("a substitution makes a text that is longer than the limit allows")
	errNested       = unknown("substitutions are nested too deeply")
)

const (
	maxNested = 32      // of substitutions in defaults
	maxRead   = 1 << 23 // bytes of one text that are searched for the ends of substitutions
	maxMatch  = 1 << 27 // bytes that the patterns of one text are compared with
)

// expansion is the substitution in one text.
type expansion struct {
	text      string
	variables map[string]Value
	partial   bool // the cluster may set more variables: a ${} with an unknown one is kept
	limit     int
	made      int // bytes, for all nested texts; read and matched as well
	read      int
	matched   int

	used, unset, unread []string // names of variables; unset: without a default
	parts               []Part   // of the returned text
}

// places returns where the variables that were used get their values.
func (e *expansion) places() (list []Position) {
	for _, name := range unique(e.used) {
		list = append(list, e.variables[name].Where)
	}
	return list
}

// run returns the text with its ${} replaced. "$$" becomes "$" and starts no substitution.
func (e *expansion) run() (string, error) {
	var b strings.Builder
	for rest := e.text; rest != ""; {
		before, _, _ := strings.Cut(rest, "$")
		b.WriteString(before)
		rest = rest[len(before):]
		switch {
		case strings.HasPrefix(rest, "${"):
			substitution, source, err := e.next(rest)
			if err != nil {
				return "", err
			}
			used := len(e.used)
			value, known, err := e.value(substitution, 0)
			if err != nil {
				return "", err
			}
			if !known {
				value = source
			} else if n := len(e.used); n > used { // the last one is that of a default, if the default is used
				e.parts = append(e.parts, Part{b.Len(), b.Len() + len(value), e.variables[e.used[n-1]].Where})
			}
			b.WriteString(value)
			rest = rest[len(source):]
		case rest != "":
			b.WriteByte('$')
			rest = strings.TrimPrefix(rest[1:], "$")
		}
		if b.Len() > e.limit {
			return "", errLongText
		}
	}
	return b.String(), nil
}

// next parses the substitution at the start of a text, and returns its source, too. It ends at the first brace with
// which it is valid.
func (e *expansion) next(text string) (parse.Node, string, error) {
	for end := 0; ; {
		brace := strings.IndexByte(text[end:], '}')
		if brace < 0 {
			return nil, "", errSubstitution
		}
		end += brace + 1
		source := text[:end]
		if strings.Count(source, "${") > 1000 {
			return nil, "", errNested
		}
		if e.read += readCost(source); e.read > maxRead {
			if readCost(text) < maxRead {
				if _, err := parse.Parse(text); err != nil {
					return nil, "", errSubstitution
				}
			}
			return nil, "", errLongText
		}
		if tree, err := parse.Parse(source); err == nil {
			return tree.Root, source, nil
		}
	}
}

// readCost is the cost of parsing a text: Flux' parser copies the whole text for each escape.
func readCost(text string) int {
	return len(text) * (1 + strings.Count(text, "$$") + strings.Count(text, `\`))
}

// value returns the value of a substitution, or of a text in one, and whether the value is known.
func (e *expansion) value(n parse.Node, depth int) (string, bool, error) {
	if text, ok := n.(*parse.TextNode); ok {
		return text.Value, true, nil
	}
	f, ok := n.(*parse.FuncNode)
	if !ok {
		return "", false, errSubstitution
	}
	if depth > maxNested {
		return "", false, errNested
	}
	v, set := e.variables[f.Param]
	value, known := v.Text, set || !e.partial // the value is empty if it is not set
	if set {
		e.used = append(e.used, f.Param)
	} else if e.partial {
		e.unread = append(e.unread, f.Param)
	}
	used, unset, unread := len(e.used), len(e.unset), len(e.unread)
	args, argsKnown := make([]string, len(f.Args)), true
	for i, arg := range f.Args {
		text, ok, err := e.value(arg, depth+1)
		if err != nil {
			return "", false, err
		}
		args[i], argsKnown = text, argsKnown && ok
	}
	if isDefault(f.Name) && value != "" { // the default is not used, so its variables do not count
		e.used, e.unset, e.unread = e.used[:used], e.unset[:unset], e.unread[:unread]
	}
	if known && !set && !isDefault(f.Name) {
		e.unset = append(e.unset, f.Param)
	}
	// A default only applies if the variable is empty, which only the cluster may know.
	known = known && (argsKnown || isDefault(f.Name) && value != "")
	result, err := e.apply(f.Name, value, args)
	return result, known, err
}

func isDefault(operator string) bool {
	return slices.Contains([]string{"=", ":=", ":-", ":?", ":+"}, operator)
}

// apply evaluates one operator with Flux' library, after it has checked that the result and the work are small.
func (e *expansion) apply(operator, value string, args []string) (result string, err error) {
	if isDefault(operator) {
		args = []string{strings.Join(args, "")}
	}
	size := len(value) + len(strings.Join(args, ""))
	if len(args) > 0 {
		switch operator {
		case "#", "##", "%", "%%":
			if n := len(value); n > 1<<16 || n*n > maxMatch/(len(args[0])+1) {
				return "", errLongText
			}
			e.matched += len(value) * len(value) * (len(args[0]) + 1)
		case "//":
			size += strings.Count(value, args[0]) * len(args[len(args)-1])
		}
	}
	if e.made += size; e.made > e.limit || e.matched > maxMatch {
		return "", errLongText
	}
	defer func() {
		if recover() != nil { // the sum of an offset and a length overflowed
			err = errSubstitution
		}
	}()
	given := map[string]string{"v": value}
	for i, arg := range args {
		given[argument(i)] = arg
	}
	return envsubst.Eval(expression(operator, len(args)), func(name string) (string, bool) { return given[name], true })
}

func argument(i int) string { return string(rune('a' + i)) }

// expression returns an operator with variables in place of its value and its arguments, of which there are at most
// two.
func expression(operator string, args int) string {
	if operator == "#" && args == 0 {
		return "${#v}"
	}
	text := "${v" + operator
	for i := range args {
		text += "${" + argument(i) + "}"
		if i+1 < args || strings.HasPrefix(operator, "/") && args == 1 {
			text += operator[:1]
		}
	}
	return text + "}"
}
