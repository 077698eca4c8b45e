package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/trial"
)

// Target is a root and how it is deployed. Package deploy makes targets.
type Target struct {
	roots.Root
	By       *Deployment // the deployment by Argo CD or Flux, if it changes the rendering; nil: deployed as it is
	Digest   string      // distinguishes deployments that render differently; empty where By is nil
	Clusters []Cluster   // the clusters to render a release for; none: nothing is known of any
	// Files are the manifests of a folder, or of an ArgoDirectory.
	Files []string
}

// Deployment is what an object of Argo CD or Flux deploys from a folder.
type Deployment struct {
	gitops.Deployment
	Virtual  *gitops.Virtual // replaces the folder's kustomization; nil: it does not
	Problems []gitops.Problem
}

// Cluster is what charts see of a cluster (.Capabilities).
type Cluster struct {
	Name        string   // for messages; may be empty
	Kubernetes  string   // Kubernetes version; empty: Helm's default
	APIVersions []string // "group/version" and "group/version/Kind", in addition to those of Kubernetes and the repository
}

// anyRelease returns the release of a deployment, also one that it only may have; nil: it is none.
func (d *Deployment) anyRelease() *gitops.Release {
	if d.Release == nil && d.External != nil {
		return d.External.Release
	}
	return d.Release
}

// IsRelease reports whether the target is a release of a chart.
func (t Target) IsRelease() bool {
	if t.Object == "" {
		return t.Kind == roots.Chart
	}
	return t.By != nil && t.By.anyRelease() != nil
}

// IsExternal reports whether the target deploys more than files of the tree: a release of a chart, or a folder of
// another repository.
func (t Target) IsExternal() bool {
	return t.By != nil && (t.By.Release != nil || t.By.External != nil)
}

// release returns the release that the target is. It returns nil where the target is none, or where that depends on a
// remote source.
func (t Target) release() *gitops.Release {
	switch {
	case t.By != nil:
		return t.By.Release
	case t.Object == "" && t.Kind == roots.Chart:
		return standalone(t.Root)
	}
	return nil
}

// clusters returns the clusters to render a release for: at least one.
func (t Target) clusters() []Cluster {
	if len(t.Clusters) == 0 {
		return []Cluster{{}}
	}
	return t.Clusters
}

// written returns a digest of the places that say how the target is deployed: those of its fields are among them. They may
// be in many files: of the object, of patches, and of variables and values that the object names.
func (t Target) written() string {
	if t.By == nil {
		return ""
	}
	h := sha256.New()
	h.Write(env.Encode(t.By.Deployment))
	fmt.Fprint(h, t.By.Virtual.Lines())
	return hex.EncodeToString(h.Sum(nil))
}

// key identifies the content of a target's rendering. Objects that deploy a folder in the same way share it.
func (r *Renderer) key(t Target) string {
	return fmt.Sprintf("%v %d %t %t %q %v %t %q %q", r.limits, r.tree.BlobLimit(), r.mounts.sources != nil, r.index.Unrestricted(),
		t.Path, t.Kind, t.Object != "", t.Digest, t.Clusters)
}

// ownKey identifies a target's rendering with its places.
func (r *Renderer) ownKey(t Target) string { return t.Object + " " + r.key(t) }

// deployed renders a root as an object of Argo CD or Flux deploys it.
func (r *Renderer) deployed(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	nothing := &Rendering{Reads: map[string]string{}}
	by := t.By
	if by == nil {
		return nothing, []doc.Error{
			{Path: t.Path, Message: "no object of Argo CD or Flux deploys this folder as " + t.Object}}, nil
	}
	var problems []doc.Error
	for _, p := range by.Problems {
		if p.Cause == gitops.Broken {
			problems = append(problems, p.Error)
		}
	}
	if len(problems) > 0 {
		return nothing, problems, nil
	}
	var out *Rendering
	var err error
	switch {
	case by.External != nil:
		out, problems, by, err = r.externalSource(ctx, t)
	case by.Release != nil:
		out, problems, err = r.release(ctx, t, by.Release)
	case by.Kind == gitops.ArgoDirectory:
		out, problems, err = r.files(ctx, t)
	case by.Virtual != nil:
		out, problems = r.instead(by.Virtual).build(t.Root)
		for i, p := range problems {
			if p.Path == by.Virtual.Path {
				at := by.Virtual.Place(p.Line, p.Column)
				problems[i].Path, problems[i].Line, problems[i].Column = at.Path, at.Line, at.Column
			}
		}
	default:
		out, problems = r.build(t.Root)
	}
	if err != nil {
		return nil, nil, err
	}
	file := r.sources()
	for _, res := range out.Resources {
		r.finish(res, by, file)
	}
	return out, problems, nil
}

// finish changes a resource as its controller does between the build and the cluster.
func (r *Renderer) finish(res *Resource, one *Deployment, file sources) {
	node := cloneNode(res.node)
	writes, issues := one.Finish(node, gitops.FinishOptions{
		Namespaced: r.namespaced, Limits: gitops.Limits{Source: r.limits.Source}, CRD: res.crd,
	})
	if len(writes) > 0 {
		before := res.locator
		res.locator = func(pointer string) origin.Place {
			return written(writes, file, pointer, before(former(writes, pointer)))
		}
		res.node, res.packed = node, packed{}
		if one.Release != nil {
			printed := res.Object
			res.made = func() map[string]any { return printed }
		}
		if object, ok := doc.Value(node, res.plain).(map[string]any); ok {
			res.Object = object
		}
	}
	for _, issue := range issues {
		res.Issues = append(res.Issues, Issue{Check: checkOf(issue.Cause), Pointer: issue.Pointer, Message: issue.Message,
			Value: issue.Value})
	}
}

// checkOf returns the check that reports an issue with a cause.
func checkOf(cause gitops.Cause) Check {
	switch cause {
	case gitops.ClusterOnly:
		return ControllerUnknown
	case gitops.Suspicious:
		return ControllerSuspicious
	}
	return ControllerRejects
}

// cloneNode copies a tree of nodes. Aliases point to the copies of their targets.
func cloneNode(n *yaml.Node) *yaml.Node {
	copies := map[*yaml.Node]*yaml.Node{}
	var clone func(n *yaml.Node) *yaml.Node
	clone = func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return nil
		}
		if c, ok := copies[n]; ok {
			return c
		}
		c := *n
		if n.Anchor != "" {
			copies[n] = &c
		}
		c.Alias = clone(n.Alias)
		c.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			c.Content[i] = clone(child)
		}
		return &c
	}
	return clone(n)
}

// otherTexts replace the placeholder of an unknown value in a second rendering. The first is a number, so that the
// result of the function int differs, too. The others are for charts that reject a number, or a short text.
var otherTexts = []string{"30711", "another", "another-text-that-is-as-long-as-passwords-are-0123456789"}

// unsure adds an issue to fields that depend on unknown values. These are the fields with a placeholder, and those that
// differ when another text replaces the placeholder, like encoded texts, checksums and numbers.
func (s *release) unsure(ctx context.Context, list []*Resource) []doc.Error {
	if !slices.ContainsFunc(s.values.Unknown, func(u gitops.Unknown) bool { return u.Path != nil }) {
		return nil
	}
	message := "depends on a value that only the cluster has" + s.reason()
	for _, res := range list {
		for _, f := range res.Fields() {
			if f.Scalar() && strings.Contains(f.Node.Value, gitops.PlaceholderPrefix) {
				res.unknown(f.Pointer, message)
			}
		}
	}
	var again *Rendering
	for _, text := range otherTexts {
		values, _ := replaced(s.options.Values, text).(map[string]any)
		out, err := s.trial.Try(ctx, trial.Edit{Values: values, AnyValues: true}) // validation is off: only the effect of the text matters
		if err != nil {
			continue
		}
		other := *s
		other.output = out
		one := &Rendering{}
		if problems, err := other.resources(one); err == nil && (len(problems) == 0 || one.Resources != nil) {
			again = one
			break
		}
	}
	at := s.spec.Chart.Where
	said := func(message string) []doc.Error {
		return []doc.Error{{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: true, Message: message}}
	}
	switch {
	case again == nil && len(list) == 0:
		return nil // the problems of the first rendering are reported
	case again == nil:
		return said("the chart does not render with another text for a value that only the cluster has" + s.reason() + ". " +
			"What depends on it is checked as if it were known")
	case len(again.Resources) != len(list):
		return said("which resources the chart prints " + message)
	}
	for i, res := range list {
		differences(res.Object, again.Resources[i].Object, "", func(pointer string) { res.unknown(pointer, message) })
	}
	return nil
}

// reason returns why the values are unknown, if there is only one reason.
func (s *release) reason() string {
	reason := ""
	for _, u := range s.values.Unknown {
		if reason != "" && u.Reason != reason {
			return ""
		}
		reason = u.Reason
	}
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// unknown adds an issue for an unknown value of a field, once.
func (r *Resource) unknown(pointer, message string) {
	if !slices.ContainsFunc(r.Issues, func(i Issue) bool { return i.Value && i.Pointer == pointer }) {
		r.Issues = append(r.Issues, Issue{Check: ControllerUnknown, Pointer: pointer, Message: message, Value: true})
	}
}

// placeholders matches what stands for unknown values.
var placeholders = regexp.MustCompile(gitops.PlaceholderPrefix + "[-a-z0-9]*")

// replaced returns values in which a text replaces each placeholder.
func replaced(v any, text string) any {
	return doc.MapLeaves(v, func(v any) any {
		if s, ok := v.(string); ok {
			return placeholders.ReplaceAllLiteralString(s, text)
		}
		return v
	})
}

// differences calls found for each field in which two values differ. Where maps or lists have different keys or
// lengths, it is the map or list.
func differences(a, b any, pointer string, found func(pointer string)) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || !slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
			found(pointer)
			return
		}
		for k, value := range x {
			differences(value, y[k], fmt.Sprint(pointer, "/", jsonpointer.Escape(k)), found)
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			found(pointer)
			return
		}
		for i, value := range x {
			differences(value, y[i], pointer+"/"+strconv.Itoa(i), found)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			found(pointer)
		}
	}
}
