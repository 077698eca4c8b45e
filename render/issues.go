package render

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// Check names the check that reports an issue.
type Check string

// The checks of single resources.
const (
	Unprintable          Check = "unprintable"        // kustomize builds the resource and fails when it writes it
	EmbeddedItems        Check = "embedded-items"     // kubectl would create the items of the resource in its place
	ControllerRejects    Check = "controller-rejects" // Argo CD or Flux fails to deploy the resource
	ControllerUnknown    Check = "controller-unknown" // only the cluster knows what Argo CD or Flux makes of the resource
	ControllerSuspicious Check = "controller-advice"  // the resource is deployed, but probably not as intended
)

// Issue is something about one resource that is wrong or not known. Its place is that of its Pointer.
type Issue struct {
	Check   Check
	Pointer string // RFC 6901, into the resource
	Message string
	// Value means that the value of the field is not known, so that no policy that depends on it can be decided.
	Value bool `json:",omitempty"`
}

// Breaks reports whether no tool can deploy the resource.
func (i Issue) Breaks() bool { return i.Check == Unprintable || i.Check == EmbeddedItems }

func (r *Resource) issue(check Check, pointer, message string) {
	r.Issues = append(r.Issues, Issue{Check: check, Pointer: pointer, Message: message})
}

// Broken lists the resources that no tool can deploy, as problems with their places. It is for callers that need the
// whole rendering.
func (r *Rendering) Broken() []doc.Error {
	var list []doc.Error
	for _, res := range r.Resources {
		for _, issue := range res.Issues {
			if issue.Breaks() {
				at := res.Origin(issue.Pointer)
				list = append(list, doc.Error{Path: at.Path, Line: at.StartLine, Message: issue.Message})
			}
		}
	}
	return list
}

// embeds reports whether an object that is not a list has items that are objects. kubectl takes any object with items
// for a list, and would create the items.
func embeds(object map[string]any) bool {
	items, _ := object["items"].([]any)
	return slices.ContainsFunc(items, func(item any) bool {
		m, ok := item.(map[string]any)
		return ok && m["kind"] != nil && m["apiVersion"] != nil
	})
}

const embedded = "has items that are objects, which kubectl creates in place of the list: use kind: List, or write " +
	"them as separate documents"

// tooMany returns the problem of a root with more resources than the limit.
func tooMany(path string, limit int) doc.Error {
	return doc.Error{Path: path,
		Message: fmt.Sprintf("exceeds the limit of %d resources of its root: split the root, or raise limits.resources in "+
			".lintel.yaml on the base branch", limit)}
}

// unprintable returns why a built resource, or a value in one, cannot be printed; empty if it can. Kustomize builds
// such a resource and fails when it writes the result.
func unprintable(n *yaml.Node, top bool) (why string) {
	n = doc.Deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		why = badKey(n, top)
	case yaml.ScalarNode:
		var v any
		if n.Style&yaml.TaggedStyle != 0 && n.Decode(&v) != nil {
			return fmt.Sprintf("has the YAML tag %s and another type of value", n.ShortTag())
		}
		return ""
	}
	for i := 0; why == "" && i < len(n.Content); i++ {
		why = unprintable(n.Content[i], false)
	}
	return why
}

// few is the number of keys up to which comparing all pairs is cheaper than a map.
const few = 8

func badKey(n *yaml.Node, top bool) (why string) {
	var seen map[string]bool
	if len(n.Content) > 2*few {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := doc.Deref(n.Content[i])
		// Below the top, keys are not turned into text (kyaml, RNode.MarshalJSON).
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" && !top && !doc.IsMerge(n.Content[i]) {
			return "has a key that is no text: put it in quotes"
		}
		twice := seen[key.Value]
		for j := 0; seen == nil && j < i; j += 2 {
			twice = twice || doc.Deref(n.Content[j]).Value == key.Value
		}
		if twice {
			return fmt.Sprintf("sets %q twice: keep one", key.Value)
		}
		if seen != nil {
			seen[key.Value] = true
		}
	}
	return ""
}

// misprinted returns the issue of a built resource that kustomize cannot print because on the way it writes texts that it
// cannot read.
func misprinted(n *yaml.Node) (Issue, bool) {
	pointer, why := fragile(n, false)
	if why == "" {
		return Issue{}, false
	}
	if _, err := nodeYAML(n); err == nil {
		return Issue{}, false
	}
	return Issue{Check: Unprintable, Pointer: pointer, Message: cannotPrint + why}, true
}

const cannotPrint = "is or becomes a resource that kustomize cannot print: it "

// longKey is a length of keys up to which the parser takes them in any style.
const longKey = 100

// fragile returns the first field that may keep a resource from being printed, and why; empty where there is none.
func fragile(n *yaml.Node, flow bool) (pointer, why string) {
	if flow && n.HeadComment+n.LineComment+n.FootComment != "" {
		return "", "has a comment in a map or list that is in brackets: write that in lines, or leave the comment out"
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for i, c := range n.Content {
		token := strconv.Itoa(i)
		if n.Kind == yaml.MappingNode {
			token = n.Content[i&^1].Value
		}
		if pointer, why = fragile(c, flow); why == "" && c.Kind == yaml.ScalarNode && i%2 == 0 && len(token) > longKey {
			why = "has a very long key"
		}
		if why != "" {
			return doc.Pointer(token) + pointer, why
		}
	}
	return "", ""
}

// ambiguous returns the first key before a merge key ("<<") that merges the same key. Kustomize takes the map's own
// value, as YAML says. kubectl and Argo CD use an older parser, which takes the merged value.
func ambiguous(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if !doc.IsMerge(n.Content[i]) {
			continue
		}
		brought := map[string]bool{}
		for _, merged := range doc.Merged(n.Content[i+1]) {
			for _, key := range doc.Keys(merged) {
				brought[key] = true
			}
		}
		for j := 0; j < i; j += 2 {
			if !doc.IsMerge(n.Content[j]) && brought[doc.Key(n.Content[j])] {
				return n.Content[j]
			}
		}
	}
	for _, c := range n.Content { // the target of an alias is checked where it is written
		if at := ambiguous(c); at != nil {
			return at
		}
	}
	return nil
}
