package report

import (
	"cmp"
	"slices"
	"strings"
)

// Result is the result of one rule for one resource. Passes are counted in Stats and are not findings.
type Result string

// The results of a finding.
const (
	Fail    Result = "fail"    // an enforced rule is violated
	Warn    Result = "warn"    // an audited rule is violated
	Skip    Result = "skip"    // an exception covers the violation
	Error   Result = "error"   // the rule could not be evaluated
	Unknown Result = "unknown" // the rule needs data that only the cluster has
	Pass    Result = "pass"    // the rule holds; in previews and in the results of files only
)

// Action is what a policy requests if one of its rules is violated.
type Action string

// The actions.
const (
	Enforce Action = "enforce" // the request is denied
	Audit   Action = "audit"   // it is reported
)

// ResultOf returns the result for an outcome of package engine, which has the same names. A failure of a rule that is
// not enforced is a warning.
func ResultOf[Outcome ~string](outcome Outcome, enforced bool) Result {
	if r := Result(outcome); r != Fail || enforced {
		return r
	}
	return Warn
}

// ActionOf returns the action of a rule.
func ActionOf(enforced bool) Action {
	if enforced {
		return Enforce
	}
	return Audit
}

// Severities are the levels of severity, the worst first.
func Severities() []string { return []string{"critical", "high", "medium", "low", "info"} }

// SeverityRank is 0 for the worst severity and higher for lower ones. An empty or unknown severity counts as medium.
func SeverityRank(severity string) int {
	if i := slices.Index(Severities(), strings.ToLower(severity)); i >= 0 {
		return i
	}
	return slices.Index(Severities(), "medium")
}

// Side is the side of a change on which a place is.
type Side string

// The sides.
const (
	Head Side = ""
	Base Side = "base" // the place is in the merge base only
)

// Finding is a rule that is violated, undecided or excepted at one field of one resource.
type Finding struct {
	Policy     string     `json:"policy"`              // name, or namespace/name of a namespaced policy
	Rule       string     `json:"rule"`                // of the policy
	Severity   string     `json:"severity,omitempty"`  // critical, high, medium, low or info; the policy's annotation
	Resource   Resource   `json:"resource"`            // apiVersion, kind, namespace and name of the object
	Operation  string     `json:"operation"`           // CREATE, UPDATE or DELETE
	Result     Result     `json:"result"`              // fail, warn, skip, error or unknown
	Action     Action     `json:"action"`              // Enforce or Audit
	Field      string     `json:"field"`               // RFC 6901 pointer into the rendered resource
	Message    string     `json:"message"`             // what the rule reports
	Causes     []string   `json:"causes,omitempty"`    // the ids of those for which it is undecided: any of them
	Origin     *Origin    `json:"origin,omitempty"`    // the place to edit
	Roots      []string   `json:"roots"`               // the roots whose render has it
	Clusters   []string   `json:"clusters,omitempty"`  // those that deploy them, where the settings name any, or where they differ
	Resources  []Resource `json:"resources,omitempty"` // further resources that fail at the same place for the same reason
	Exemption  *Exemption `json:"exemption,omitempty"` // the exception that covers it, and its state
	New        bool       `json:"new"`                 // false: the base had it, too
	Denied     bool       `json:"denied,omitempty"`    // not new, and a cluster refuses the update all the same
	Blocks     bool       `json:"blocks"`              // whether this finding alone fails the check
	PolicyPath string     `json:"policyPath"`          // where the policy is written
	PolicyLine int        `json:"policyLine"`          // of the rule, where it has one
	Expected   string     `json:"expected,omitempty"`  // what the rule asks of the field, as people say it
	// Approvers decide about exceptions to the policy in place of the repository's: it is one of the organisation. Nil:
	// the repository's do.
	Approvers *Approvers `json:"approvers,omitempty"`

	Suggestion *Suggestion `json:"suggestion,omitempty"` // what to write, where that is known
}

// Suggestion is a change of the object after which the rule passes for the field. It was tried.
type Suggestion struct {
	Field   string `json:"field"`             // what to write: the finding's field, or what is missing around or below it
	YAML    string `json:"yaml,omitempty"`    // the value; "<value>" stands for what a person has to choose
	Remove  bool   `json:"remove,omitempty"`  // the field has to go
	Example bool   `json:"example,omitempty"` // other values do as well
	Was     string `json:"was,omitempty"`     // the value now, where it is a scalar
	Diff    *Diff  `json:"diff,omitempty"`    // the lines to edit, where they are known

	// Shared are the other roots that contain the edited file, so that the edit may change them, too: their number, and the
	// names of the first.
	Shared     int      `json:"shared,omitempty"`
	SharedWith []string `json:"sharedWith,omitempty"`
}

// Diff is an edit of the source file at the finding's origin.
type Diff struct {
	Line    int      `json:"line"`              // the first line taken out, or the one before which the others go
	Above   string   `json:"above,omitempty"`   // the line above, where nothing is taken out
	Removed []string `json:"removed,omitempty"` // as the file has them
	Added   []string `json:"added,omitempty"`
}

// Lines returns the edit in unified format: each line after a space, a minus or a plus.
func (d *Diff) Lines() []string {
	var out []string
	if d.Above != "" {
		out = append(out, " "+d.Above)
	}
	signed := func(sign string, lines []string) []string {
		return Mapped(lines, func(s string) string { return sign + s })
	}
	return slices.Concat(out, signed("-", d.Removed), signed("+", d.Added))
}

// About is a policy's description in its annotations policies.kyverno.io/title, /description and /category.
type About struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty"`
}

// Waits reports whether a pending exception covers the finding.
func (f *Finding) Waits() bool { return f.Exemption != nil && f.Exemption.State == Pending }

// Resource names a rendered object.
type Resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String returns the resource in words: kind, and namespace/name. Empty parts are left out.
func (r Resource) String() string { return strings.TrimSpace(r.Kind + " " + Name(r.Namespace, r.Name)) }

// Name returns the displayed name of a policy or an exception: namespace/name, or the name if there is no namespace.
func Name(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// How a place was found. Identity: the value was copied unchanged from its file. Writer: it was written there otherwise.
// Enclosing: the place only encloses the field.
const (
	Identity  = "identity"
	Writer    = "writer"
	Enclosing = "enclosing"
)

// Origin is the place a person must edit to change a field. Lines and columns count from 1; EndColumn is after the last
// character. Zero columns mean whole lines. If a value of a Secret is masked, EndColumn is after the mask, or zero.
type Origin struct {
	Path        string  `json:"path"`              // the file, from the top of the repository
	StartLine   int     `json:"startLine"`         // from 1
	EndLine     int     `json:"endLine"`           // the last line
	StartColumn int     `json:"startColumn"`       // from 1, in characters; 0: the whole line
	EndColumn   int     `json:"endColumn"`         // the one after the last column
	How         string  `json:"how"`               // Identity, writer, search or Enclosing
	Side        Side    `json:"side,omitempty"`    // base where the place is in the base commit
	Changed     bool    `json:"changed"`           // whether the change touches this file
	Chain       []Place `json:"chain"`             // what this value replaced, nearest layer first
	Missing     string  `json:"missing,omitempty"` // the rest of the pointer that does not exist below this place
	// Set is the value of a chart that decides the field and that nobody here sets, as a path of keys: Missing are then
	// those of its keys that are to be added at this place.
	Set    []string `json:"set,omitempty"`
	Switch *bool    `json:"switch,omitempty"` // what Set has to be, where the template spells the field itself
	Advice string   `json:"advice,omitempty"` // what to do where editing this place is not enough
}

// Place is a position in the sources with its role.
type Place struct {
	Path      string `json:"path"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Role      string `json:"role"` // "base", "patch", "images", ...
}

// Exemption is the exception that covers a finding.
type Exemption struct {
	Exception string `json:"exception"` // namespace/name
	Path      string `json:"path"`
	State     State  `json:"state"`
	By        string `json:"by,omitempty"`
	// Objects are all that a rule looks up and the change alters. Exception is the one whose approval is least advanced.
	Objects []string `json:"-"`
}

// Merge combines findings at the same place for the same reason, in the order of their first. A violation in a base is
// found in every overlay, and one edit fixes it. It changes the findings of the list.
func Merge(list []Finding) []Finding {
	type reason struct {
		policy, policyPath, rule, operation, message, exemption string
		action                                                  Action
		result                                                  Result
		path                                                    string
		side                                                    Side
		line, column                                            int
		missing                                                 string
		isNew                                                   bool
	}
	key := func(f Finding) reason {
		k := reason{policy: f.Policy, policyPath: f.PolicyPath, rule: f.Rule, action: f.Action, operation: f.Operation,
			message: f.Message, result: f.Result, path: f.Origin.Path, side: f.Origin.Side, line: f.Origin.StartLine,
			column: f.Origin.StartColumn, missing: f.Origin.Missing, isNew: f.New}
		if f.Exemption != nil {
			k.exemption = f.Exemption.Path + f.Exemption.Exception + string(f.Exemption.State)
		}
		return k
	}
	var out []Finding
	for _, same := range Grouped[[]Finding](list, key) {
		into := same[0]
		for _, f := range same[1:] {
			into.Roots, into.Clusters = Union(into.Roots, f.Roots), Union(into.Clusters, f.Clusters)
			for _, r := range append([]Resource{f.Resource}, f.Resources...) {
				if r != into.Resource {
					into.Resources = Union(into.Resources, []Resource{r})
				}
			}
			if into.Operation == "DELETE" && into.Origin.Advice != f.Origin.Advice { // each is about one of several entries
				at := *into.Origin
				at.Advice, into.Origin = "", &at
			}
			into.Causes = Union(into.Causes, f.Causes)
			into.Blocks = into.Blocks || f.Blocks
			into.Denied = into.Denied || f.Denied
		}
		out = append(out, into)
	}
	return out
}

// CompareFindings compares findings by place, then by policy, resource and field.
func CompareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Origin.Path, b.Origin.Path), cmp.Compare(a.Origin.StartLine, b.Origin.StartLine),
		cmp.Compare(a.Origin.StartColumn, b.Origin.StartColumn), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Resource.Kind, b.Resource.Kind), cmp.Compare(a.Resource.Namespace, b.Resource.Namespace),
		cmp.Compare(a.Resource.Name, b.Resource.Name), cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Message, b.Message), slices.Compare(a.Roots, b.Roots))
}

// Mutation is what a mutate rule writes into a resource before other rules are evaluated.
type Mutation struct {
	Policy     string   `json:"policy"`
	Rule       string   `json:"rule"`
	Resource   Resource `json:"resource"`
	Root       string   `json:"root"`
	Fields     []string `json:"fields"` // pointers, in which [name=x] stands for the element of that name
	PolicyPath string   `json:"policyPath"`
	PolicyLine int      `json:"policyLine"`
}

// SourceEdit is the combined suggestion of findings for one place of a file of the head. None of its lines contains a
// masked value.
type SourceEdit struct {
	Path     string `json:"path"`           // the file's own, of no link to it
	Diff     *Diff  `json:"diff,omitempty"` // nil: there is no edit
	Why      string `json:"why,omitempty"`  // why there is none, of one finding; "": the findings contradict each other
	Findings []int  `json:"findings"`       // those that suggest it, by index
	// Around are lines of the file before and after the edit, at most ShownAround each, masked.
	Around map[int]string `json:"around,omitempty"`
}

// Line is the first line of the edit, 0 if there is none.
func (e *SourceEdit) Line() int { return cmp.Or(e.Diff, &Diff{}).Line }

// ShownAround is the number of lines that a difference shows on each side.
const ShownAround = 3

// Annotation is a note on lines of a file of the head. Columns are only known on one line; they are those of GitHub,
// whose last one is inside.
type Annotation struct {
	Path                                       string
	StartLine, EndLine, StartColumn, EndColumn int
	Level, Title, Message                      string // as GitHub names the level: failure, warning or notice
}

// Replacement replaces lines of a file of the head with others.
type Replacement struct {
	Path               string
	StartLine, EndLine int
	Was, Lines         []string
	Why                string // the findings that it is for, in GitHub's Markdown
}
