package preview

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// gathered is the sum of the differences of all roots.
type gathered struct {
	tallies    tallies
	exceptions map[string]report.ExceptionPreview
	groups     map[differenceKind][]report.Finding
	left       map[uint64]bool // places for which there was no room
}

// differenceKind is what findings that are merged have in common.
type differenceKind struct {
	effect        report.Effect
	before, after report.Result
}

func newGathered() *gathered {
	return &gathered{tallies: tallies{}, exceptions: map[string]report.ExceptionPreview{},
		groups: map[differenceKind][]report.Finding{}, left: map[uint64]bool{}}
}

func (g *gathered) add(one *rootPreview) {
	for name, t := range one.tallies {
		sum := g.tallies.of(name)
		*sum = sum.With(*t)
	}
	for id, x := range one.exceptions {
		x.Roots = min(x.Lets, 1)
		g.exceptions[id] = g.exceptions[id].With(x)
	}
	grown := map[differenceKind]bool{}
	for _, d := range one.differences {
		k := differenceKind{d.effect, d.before, d.after}
		g.groups[k] = append(g.groups[k], d.finding)
		grown[k] = true
	}
	for _, k := range slices.SortedFunc(maps.Keys(grown), compareKinds) {
		list := report.Merge(g.groups[k])
		for i := maxListed; i < len(list); i++ {
			g.left[placeHash(k, &list[i])] = true
		}
		g.groups[k] = list[:min(len(list), maxListed)]
	}
}

func compareKinds(a, b differenceKind) int {
	order := []report.Effect{report.EffectFails, report.EffectUndecided, report.EffectWarns, report.EffectRelaxed,
		report.EffectPasses}
	return cmp.Or(cmp.Compare(slices.Index(order, a.effect), slices.Index(order, b.effect)),
		cmp.Compare(loudness(b.after), loudness(a.after)), cmp.Compare(loudness(b.before), loudness(a.before)))
}

// findings lists the differences, the most severe kinds first, and returns the number of omitted ones.
func (g *gathered) findings() ([]report.PreviewFinding, int) {
	list := []report.PreviewFinding{}
	for _, k := range slices.SortedFunc(maps.Keys(g.groups), compareKinds) {
		findings := g.groups[k]
		slices.SortStableFunc(findings, report.CompareFindings)
		for _, f := range findings {
			if len(list) == maxListed {
				g.left[placeHash(k, &f)] = true
				continue
			}
			d := report.PreviewFinding{Effect: k.effect, Policy: f.Policy, Rule: f.Rule, Resource: f.Resource,
				Resources: f.Resources, Roots: f.Roots, Field: f.Field, Before: k.before, After: k.after,
				Message: f.Message, Origin: f.Origin}
			d.Resources, d.More.Resources = firstOf(d.Resources)
			d.Roots, d.More.Roots = firstOf(d.Roots)
			if f.Exemption != nil {
				d.Exception = f.Exemption.Exception
			}
			list = append(list, d)
		}
	}
	return list, len(g.left)
}

// firstOf cuts a list to maxNamed and returns the number of omitted elements.
func firstOf[T any](list []T) ([]T, int) {
	n := min(len(list), maxNamed)
	return list[:n:n], len(list) - n
}

// placeHash identifies the place of a difference, by the same fields as report.Merge.
func placeHash(k differenceKind, f *report.Finding) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %q %q %q %d %d %q %q", k.effect, k.before, k.after, f.Policy, f.Rule, f.Origin.Path,
		f.Origin.StartLine, f.Origin.StartColumn, f.Origin.Missing, f.Message)
	return h.Sum64()
}
