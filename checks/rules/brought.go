package rules

import (
	"bytes"
	"context"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// brought adds the policies that only a rendering contains: those of charts and remote bases. It renders only roots that
// may contain policies (see mayBring), since a check must not fetch and render everything that is deployed. Exceptions do
// not count, since nobody could approve them here.
func (out *Sources) brought(ctx context.Context, c diff.Commit) error {
	list := append(printing(c), slices.DeleteFunc(c.Roots.External(), func(r roots.Root) bool { return !mayBring(c, r) })...)
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, roots.Compare)
	isOther := out.Settings.Others(c.Roots)
	from, ids := map[string]Source{}, []string(nil) // by the id of the policy; those of files have no folder
	for _, d := range Documents(out.Policies, false) {
		from[d.ID()] = Source{}
	}
	counts := map[string]bool{} // exceptions, by id
	for _, d := range Documents(out.Exceptions, true) {
		counts[d.ID()] = true
	}
	for _, root := range slices.Compact(list) {
		if isOther(root) {
			continue
		}
		rendering, problems, err := c.Roots.Render(ctx, root)
		if err != nil {
			return err
		}
		problems = append(problems, rendering.Broken()...)
		unknown := diff.Problems("the policies that "+root.Name()+" may deploy are not known: ", problems...)
		if len(c.Roots.Placement(root).Clusters) > 0 {
			out.Unknown = append(out.Unknown, unknown...)
		} else { // perhaps it is deployed from elsewhere with other values, or never
			out.Warnings = append(out.Warnings, unknown...)
		}
		sources, err := rulesIn(rendering, root.Name())
		if err != nil {
			return err
		}
		for _, s := range sources {
			for _, d := range Documents([]Source{s}, true) {
				if !counts[d.ID()] {
					out.Warnings = append(out.Warnings, report.Problem{Path: s.Path, Line: s.Line(1), Message: "" +
						"the exception " + d.FullName() + " that " + root.Name() + " deploys is not in effect here: write it in a " +
						"manifest, where it can be approved"})
				}
			}
			for _, d := range Documents([]Source{s}, false) {
				known, is := from[d.ID()]
				switch {
				case !is:
					from[d.ID()], ids = s, append(ids, d.ID())
				case known.Folder != "" && !bytes.Equal(known.Data, s.Data):
					if blocks.Match(s.Data) && !blocks.Match(known.Data) {
						from[d.ID()], s, known = s, known, s
					}
					out.Warnings = append(out.Warnings, report.Problem{Path: s.Path, Line: s.Line(1), Message: "" +
						s.Folder + " deploys " + d.Name + " in another way than " + known.Folder + ", which is in effect here. " +
						"Name the policies of each cluster under clusters in " + settings.Path})
				}
			}
		}
	}
	for _, id := range ids {
		out.Policies = append(out.Policies, from[id])
	}
	return nil
}

// ExceptionIn returns the exception that a rendered object is; false for any other object.
func ExceptionIn(res *render.Resource) (engine.RuleDocument, bool) {
	if id := admission.IdentityOf(res.Object); !engine.IsRule(id.Group, id.Kind) {
		return engine.RuleDocument{}, false
	}
	data, err := res.YAML()
	list := Documents([]Source{{File: File{Data: data}}}, true)
	if err != nil || len(list) != 1 || slices.ContainsFunc(res.Issues, render.Issue.Breaks) {
		return engine.RuleDocument{}, false // what cannot be written as YAML reaches no cluster
	}
	return list[0], true
}

// blocks matches a policy that may block a request. Where releases differ, it counts before one that does not.
var blocks = regexp.MustCompile(`(?i)\b(enforce|deny)\b`)

// named matches the name or address of a chart or base that contains policies, products the names of engines and reporters
// of policies, which contain none.
var (
	named    = regexp.MustCompile(`(?i)polic(y|ies)\b`)
	products = regexp.MustCompile(`(?i)open-policy-agent|policy-(agent|controller|reporter|server)`)
)

// printing lists the roots without an object of their own that render charts with the marks of policies in their files.
func printing(c diff.Commit) []roots.Root {
	templates := slices.DeleteFunc(slices.Clone(c.Roots.Marked()), c.Roots.ManifestOrPatch)
	if len(templates) == 0 {
		return nil
	}
	return slices.DeleteFunc(c.Roots.Reach(templates, nil), func(r roots.Root) bool {
		return r.Object != "" || r.Kind != roots.Chart && !c.Roots.IsExternal(r)
	})
}

// mayBring reports whether a root that renders something external may deploy policies: the object that deploys it, its
// values or its chart in the repository have the marks of policies, or what it fetches says in its name that it contains
// policies.
func mayBring(c diff.Commit, root roots.Root) bool {
	says := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return named.MatchString(products.ReplaceAllString(name, ""))
		})
	}
	if one := c.Roots.Deployment(root); one != nil {
		if e := one.External; e != nil {
			return says(e.Want.URL, e.Folder)
		}
		if r := one.Release; r != nil {
			return says(r.Chart.Want.URL, r.Chart.Want.Name) || slices.ContainsFunc(c.Roots.Marked(), func(p string) bool {
				return p == one.Where.Path || slices.Contains(r.Reads, p) || r.Chart.Here() && slices.Contains(roots.Upwards(p), r.Chart.Folder)
			})
		}
	}
	included, _ := c.Roots.Included(root.Path)
	return slices.ContainsFunc(append(included, root.Path), func(dir string) bool {
		f, err := c.Roots.Kustomization(dir)
		if f == nil || err != nil {
			return false
		}
		return slices.ContainsFunc(f.Refs, func(r kustomization.Ref) bool { return kustomization.Remote(r.Value) && says(r.Value) }) ||
			slices.ContainsFunc(doc.Items(f.Node, "helmCharts"), func(chart *yaml.Node) bool {
				return says(doc.Text(chart, "name"), doc.Text(chart, "repo"))
			})
	})
}
