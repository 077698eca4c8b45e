package report

import (
	"cmp"
	"slices"
	"strings"
)

// Preview is the effect of a change of policies, exceptions or settings after its merge. The rules before and after are
// evaluated for every root of the head, as in a check of the branch, and differing results are listed. It does not
// affect the conclusion, except for failing policy tests, which are also in Report.Errors.
type Preview struct {
	Settings   []string           `json:"settings,omitempty"` // the fields of the settings that change
	Policies   []PolicyPreview    `json:"policies"`           // that change or say something else; by name
	Exceptions []ExceptionPreview `json:"exceptions,omitempty"`
	RootsIn    []string           `json:"rootsIn,omitempty"`    // roots that are checked only after the merge
	RootsOut   []string           `json:"rootsOut,omitempty"`   // roots that are no longer checked
	RootsMoved []string           `json:"rootsMoved,omitempty"` // roots that come to other clusters
	Findings   []PreviewFinding   `json:"findings"`             // what is said differently, at most 200
	LeftOut    int                `json:"leftOut"`              // differences that are counted in Policies only
	Tests      *PreviewTests      `json:"tests,omitempty"`
	Warnings   []Problem          `json:"warnings,omitempty"` // and what the preview does not show
	Notices    []Problem          `json:"notices,omitempty"`  // its sentences, at the lines of the change they are about
	Stats      PreviewStats       `json:"stats"`

	// RemoteSources are the git repositories from which roots with differences are rendered. Report.RemoteSources also
	// has them.
	RemoteSources []RemoteSource `json:"-"`
}

// With combines two previews of clusters with different rules; it is nil if both are. Equal notices are listed once,
// and counts of the same policy or exception are added.
func (p *Preview) With(q *Preview) *Preview {
	switch {
	case p == nil:
		return q
	case q == nil:
		return p
	}
	both := *p
	both.Settings = Union(slices.Clone(p.Settings), q.Settings)
	both.Policies, both.Exceptions = slices.Clone(p.Policies), slices.Clone(p.Exceptions)
	said := map[string]string{} // the combined notice, by the notices of the parts
	both.Policies = added(both.Policies, q.Policies, PolicyPreview.same, said)
	both.Exceptions = added(both.Exceptions, q.Exceptions, ExceptionPreview.same, said)
	both.RootsIn = Union(slices.Clone(p.RootsIn), q.RootsIn)
	both.RootsOut = Union(slices.Clone(p.RootsOut), q.RootsOut)
	both.RootsMoved = Union(slices.Clone(p.RootsMoved), q.RootsMoved)
	both.Findings = append(slices.Clone(p.Findings), q.Findings...)
	both.LeftOut += q.LeftOut
	both.Warnings = joined(p.Warnings, q.Warnings)
	both.Notices = nil
	for _, n := range slices.Concat(p.Notices, q.Notices) {
		n.Message = cmp.Or(said[n.Message], n.Message)
		both.Notices = joined(both.Notices, []Problem{n})
	}
	both.Policies, both.Notices = withoutMoved(both.Policies, both.Notices)
	both.RemoteSources = JoinRemoteSources(p.RemoteSources, q.RemoteSources)
	both.Stats.Roots += q.Stats.Roots
	both.Stats.Resources += q.Stats.Resources
	both.Stats.Unseen += q.Stats.Unseen
	both.Stats.Unrendered += q.Stats.Unrendered
	both.Stats.Policies += q.Stats.Policies
	return &both
}

// withoutMoved leaves out that a policy is new where it applies to nothing, if another cluster loses it.
func withoutMoved(list []PolicyPreview, notices []Problem) ([]PolicyPreview, []Problem) {
	removed := map[string]bool{}
	for i := range list {
		removed[list[i].Policy] = removed[list[i].Policy] || list[i].Edit == Removed
	}
	idle := map[string]bool{}
	list = slices.DeleteFunc(list, func(o PolicyPreview) bool {
		is := o.Edit == Added && o.State == "" && o.Applies+o.Mutates == 0 && removed[o.Policy]
		if is {
			idle[notice(o.Words())] = true
		}
		return is
	})
	return list, slices.DeleteFunc(notices, func(n Problem) bool { return idle[n.Message] })
}

// added adds the second list to the first: counts of the same policy or exception are added. It puts the combined notice
// into said, by the notices of the parts.
func added[T interface {
	With(T) T
	Words() string
}](list, more []T, same func(a, b T) bool, said map[string]string) []T {
	for _, o := range more {
		i := slices.IndexFunc(list, func(l T) bool { return same(l, o) })
		if i < 0 {
			list = append(list, o)
			continue
		}
		sum := list[i].With(o)
		said[notice(list[i].Words())], said[notice(o.Words())] = notice(sum.Words()), notice(sum.Words())
		list[i] = sum
	}
	return list
}

// BringsPolicies reports whether the change adds policies, which are in effect after its merge.
func (p *Preview) BringsPolicies() bool {
	return p != nil && slices.ContainsFunc(p.Policies, func(o PolicyPreview) bool { return o.Edit == Added })
}

// Counts returns the sum over the policies of a preview; zero for a nil preview.
func (p *Preview) Counts() (all PreviewCounts) {
	if p == nil {
		return all
	}
	for i := range p.Policies {
		all = all.Plus(p.Policies[i].PreviewCounts)
	}
	return all
}

// joined appends the problems of a second list that the first lacks.
func joined(a, b []Problem) []Problem {
	return slices.Concat(a, slices.DeleteFunc(slices.Clone(b), func(p Problem) bool {
		return slices.ContainsFunc(a, func(q Problem) bool { return p.String() == q.String() })
	}))
}

// PreviewStats counts what a preview evaluated.
type PreviewStats struct {
	Roots      int `json:"roots"` // roots to look at
	Resources  int `json:"resources"`
	Unseen     int `json:"unseen"`     // roots that were not looked at, because time was up
	Unrendered int `json:"unrendered"` // roots that cannot be rendered, before or after the merge
	Policies   int `json:"policies"`   // policies that were asked: those that can say something else
}

// Edit is what a change does to a policy or an exception.
type Edit string

// The edits. A preview lists unchanged policies if exceptions, settings or mutations change their results.
const (
	Added     Edit = "added"
	Changed   Edit = "changed"
	Removed   Edit = "removed"
	Unchanged Edit = "unchanged"
)

// PolicyState says why a policy of a preview cannot be compared; it is empty for one that was.
type PolicyState string

// The states of policies.
const (
	PolicyBroken      PolicyState = "broken"      // it has errors
	PolicyUnevaluated PolicyState = "unevaluated" // it is of a kind that is not evaluated before merge
	PolicyUnknown     PolicyState = "unknown"     // another policy has errors, and decides what this one sees
)

// Mixed is the action of a policy whose rules have different actions; it is used in previews only.
const Mixed Action = "mixed"

// PolicyPreview counts the resources whose result of a policy changes with the merge. A resource that several roots
// deploy counts once for each.
type PolicyPreview struct {
	Policy string      `json:"policy"`           // as Finding has it
	Edit   Edit        `json:"edit"`             //
	Path   string      `json:"path"`             // at the head; of a removed policy, at the base
	Line   int         `json:"line"`             //
	Action Action      `json:"action"`           // after the merge; "" where it applies to nothing
	Before Action      `json:"before,omitempty"` // the action now
	State  PolicyState `json:"state,omitempty"`

	Partial bool `json:"partial,omitempty"` // time was up before all roots were looked at
	Applies int  `json:"applies"`           // resources it is about after the merge; of a removed one, before
	Ends    int  `json:"ends,omitempty"`    // resources that pass it now and that it is not about after the merge
	Mutates int  `json:"mutates"`           // resources it changes after the merge; of a removed one, before
	PreviewCounts
	Roots int `json:"roots"` // roots in which any of these are
}

// same reports whether another preview is of the same policy, in another cluster.
func (o PolicyPreview) same(other PolicyPreview) bool {
	return o.Policy == other.Policy && o.Edit == other.Edit && o.Path == other.Path && o.Line == other.Line && o.State == other.State
}

// With adds the counts of another preview, and combines the actions.
func (o PolicyPreview) With(other PolicyPreview) PolicyPreview {
	o.Action, o.Before = o.Action.With(other.Action), o.Before.With(other.Before)
	o.Partial = o.Partial || other.Partial
	o.Applies, o.Mutates, o.Roots = o.Applies+other.Applies, o.Mutates+other.Mutates, o.Roots+other.Roots
	o.Ends += other.Ends
	o.PreviewCounts = o.Plus(other.PreviewCounts)
	return o
}

// With combines two actions; "" is the action of a policy that applies to nothing.
func (a Action) With(other Action) Action {
	if a == "" || other == "" || a == other {
		return cmp.Or(a, other)
	}
	return Mixed
}

// PreviewCounts counts the changes of results by policy and resource. A resource with changes in two policies counts
// twice.
type PreviewCounts struct {
	Fails     int `json:"fails"`     // newly fail
	Warns     int `json:"warns"`     // newly warn, and did not fail before
	Relaxed   int `json:"relaxed"`   // warn where they failed before
	Passes    int `json:"passes"`    // no longer violate it: they pass, are excepted, or nobody looks any more
	Undecided int `json:"undecided"` // newly end in an error, or need the cluster
}

// Plus returns the sum of two counts.
func (c PreviewCounts) Plus(d PreviewCounts) PreviewCounts {
	return PreviewCounts{c.Fails + d.Fails, c.Warns + d.Warns, c.Relaxed + d.Relaxed, c.Passes + d.Passes, c.Undecided + d.Undecided}
}

// compare compares counts by what becomes worse.
func (c PreviewCounts) compare(d PreviewCounts) int {
	return cmp.Or(cmp.Compare(c.Fails, d.Fails), cmp.Compare(c.Undecided, d.Undecided), cmp.Compare(c.Warns, d.Warns))
}

// Worse reports whether anything becomes worse.
func (c PreviewCounts) Worse() bool { return c.Fails+c.Warns+c.Undecided > 0 }

// Words returns the counts in words: "4 new failures, 1 new warning"; "nothing changes" for none.
func (c PreviewCounts) Words() string {
	return cmp.Or(strings.Join(Counts([]Number{
		{c.Fails, "new failure", "new failures"}, {c.Undecided, "newly undecided", "newly undecided"},
		{c.Warns, "new warning", "new warnings"},
		{c.Relaxed, "failure that becomes a warning", "failures that become warnings"},
		{c.Passes, "no longer reported", "no longer reported"},
	}), ", "), "nothing changes")
}

// ExceptionPreview counts the resources that a changed exception covers.
type ExceptionPreview struct {
	Exception string `json:"exception"`         // namespace/name
	Edit      Edit   `json:"edit"`              //
	Path      string `json:"path"`              // at the head; of a removed exception, at the base
	Line      int    `json:"line"`              //
	Partial   bool   `json:"partial,omitempty"` // time was up before all roots were looked at
	Expired   bool   `json:"expired"`           // it has ended, so it lets nothing through
	Lets      int    `json:"lets"`              // resources that violate a rule and are let through by it
	Needless  int    `json:"needless"`          // resources it covers that keep the rules without it
	Roots     int    `json:"roots"`             // roots in which what it lets through is
}

// same reports whether another preview is of the same exception, in another cluster.
func (x ExceptionPreview) same(other ExceptionPreview) bool {
	return x.Exception == other.Exception && x.Edit == other.Edit && x.Path == other.Path && x.Line == other.Line &&
		x.Expired == other.Expired
}

// With adds the counts of another preview.
func (x ExceptionPreview) With(other ExceptionPreview) ExceptionPreview {
	x.Partial = x.Partial || other.Partial
	x.Lets, x.Needless, x.Roots = x.Lets+other.Lets, x.Needless+other.Needless, x.Roots+other.Roots
	return x
}

// Effect is the effect of a merge on a result.
type Effect string

// The effects, most severe first.
const (
	EffectFails     Effect = "fails"
	EffectUndecided Effect = "undecided"
	EffectWarns     Effect = "warns"
	EffectRelaxed   Effect = "relaxed"
	EffectPasses    Effect = "passes"
)

// PreviewFinding is one difference: the results of a rule for a field before and after the merge.
type PreviewFinding struct {
	Effect    Effect     `json:"effect"`
	Policy    string     `json:"policy"`
	Rule      string     `json:"rule"`
	Resource  Resource   `json:"resource"`
	Resources []Resource `json:"resources,omitempty"` // further ones with the same change, at most 50
	Roots     []string   `json:"roots"`               // at most 50
	More      struct {
		Resources int `json:"resources"`
		Roots     int `json:"roots"`
	} `json:"more"` // how many are not named
	Field     string  `json:"field"`
	Before    Result  `json:"before,omitempty"` // "": no rule looked
	After     Result  `json:"after,omitempty"`  // "": no rule looks any more
	Message   string  `json:"message"`          // of the side that violates the rule
	Origin    *Origin `json:"origin"`
	Exception string  `json:"exception,omitempty"` // namespace/name of what lets it through, or did
}

// PreviewTests is the results of the policy tests that the change may affect.
type PreviewTests struct {
	Files    []string  `json:"files"` // that were run
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Excluded int       `json:"excluded"` // rows where nothing was compared
	Errors   int       `json:"errors"`   // what could not be read; it is in Report.Errors
	Rows     []TestRow `json:"rows"`     // those that failed, at most 200
}
