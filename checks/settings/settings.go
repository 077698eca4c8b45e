// Package settings reads what a repository decides about its checks: the file .lintel.yaml.
package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Path is where a repository keeps its settings.
const Path = report.SettingsPath

// Paths lists the files that a tree may have its settings in: Path, and the names that are mistaken for it. A file with
// one of those is a problem, since it is not read.
func Paths() []string { return []string{Path, ".lintel.yml", ".lintel.json"} }

// Settings are a repository's decisions about its checks. They are read at the tip of the base branch, never from the
// change. Every field has a default; the file may be empty or missing.
type Settings struct {
	Policies   Policies   `yaml:"policies"`   // default: by kind, anywhere
	Exceptions []string   `yaml:"exceptions"` // when set, an exception anywhere else does not count
	Approvers  Approvers  `yaml:"approvers"`
	Roots      Roots      `yaml:"roots"`
	Charts     []Chart    `yaml:"charts"`
	Kustomize  Kustomize  `yaml:"kustomize"`
	Context    []string   `yaml:"context"` // files with objects that policies may look up beyond what is deployed
	Identities Identities `yaml:"identities"`
	Block      Block      `yaml:"block"`
	Mode       Mode       `yaml:"mode"`
	Checks     Checks     `yaml:"checks"`     // those that need no policies
	Unrendered Unrendered `yaml:"unrendered"` // the result of a check with unchecked parts
	Limits     Limits     `yaml:"limits"`
	Sources    Sources    `yaml:"sources"` // what may be fetched
	// Annotations limit the annotations of a check run.
	Annotations Annotations `yaml:"annotations"`
	Suggestions Suggestions `yaml:"suggestions"`
	// Clusters by name. Without clusters, the repository is deployed to one.
	Clusters map[string]Cluster `yaml:"clusters"`

	elsewhere []string   // files and folders with rules of other clusters
	cluster   string     // the cluster whose settings these are, see In
	whole     *Settings  // the settings of which these are one cluster's
	written   *yaml.Node // the file; nil: there is none
	inherits  *Settings  // the settings of the organisation, see Inherit
	unowned   bool       // the tree has no CODEOWNERS file
	unread    bool       // they cannot be read, so these are defaults
}

// Unrendered is the result of a check with parts that cannot be checked because only the cluster, the operator or
// another repository has the data.
type Unrendered string

// The results.
const (
	UnrenderedNeutral Unrendered = "neutral" // it is named; the default
	UnrenderedFailure Unrendered = "failure" // it fails what brings or edits it, and with block.existing whatever reaches it
)

// Suggestions says where suggested fixes can be committed, besides being shown.
type Suggestions string

// The places.
const (
	SuggestionsOff    Suggestions = "off"    // nowhere; the default
	SuggestionsReview Suggestions = "review" // in a review of the pull request
)

// Default returns the settings of a repository that has none.
func Default() *Settings {
	return &Settings{Unrendered: UnrenderedNeutral, Mode: ModeEnforce, Suggestions: SuggestionsOff,
		Kustomize: Kustomize{LoadRestrictionsRootOnly}}
}

// Approvers are the people whose review approves an exception.
type Approvers struct {
	Users      []string `yaml:"users"`
	Teams      []string `yaml:"teams"`
	CodeOwners *bool    `yaml:"codeowners"`
	Count      int      `yaml:"count"`
}

// Roots select roots by globs over their folders.
type Roots struct {
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
}

// Kustomize are the options with which kustomizations are built.
type Kustomize struct {
	LoadRestrictor LoadRestrictor `yaml:"loadRestrictor"`
}

// LoadRestrictor says which files a kustomization may read, like kustomize's flag with this name
// (https://kubectl.docs.kubernetes.io/references/kustomize/cmd/build/).
type LoadRestrictor string

// The restrictions. They do not apply to kustomizations that Flux builds.
const (
	LoadRestrictionsRootOnly LoadRestrictor = "LoadRestrictionsRootOnly" // those below its folder; the default
	LoadRestrictionsNone     LoadRestrictor = "LoadRestrictionsNone"     // all of the repository
)

// Identities map accounts on GitHub to users of the cluster.
type Identities struct {
	Users map[string]Identity `yaml:"users"`
	Teams map[string]Identity `yaml:"teams"`
}

// Identity is a user of the cluster, or what a team adds to a user.
type Identity struct {
	Username     string   `yaml:"username"`
	Groups       []string `yaml:"groups"`
	Roles        []string `yaml:"roles"`
	ClusterRoles []string `yaml:"clusterRoles"`
}

// Annotations limit how many findings a check run shows on their lines; the others are counted.
type Annotations struct {
	Max *int `yaml:"max"` // of one check run; 0 is none, nil is the default
}

// RootOptions converts the settings about roots and files with rules for roots.Options, with the given names of the
// repository and the branch.
func (s *Settings) RootOptions(repository, branches []string) roots.Options {
	return roots.Options{
		Include: s.Roots.Include, Exclude: s.Roots.Exclude, Limits: s.Limits.Render().Source,
		Marks: engine.RuleMarks(), Charts: s.ChartEntries(), Repository: repository, Branches: branches,
		Unrestricted: s.Unrestricted(),
	}
}

// Unrestricted reports whether kustomizations may read files outside of their folders.
func (s *Settings) Unrestricted() bool { return s.Kustomize.LoadRestrictor == LoadRestrictionsNone }

// SameRoots reports whether other settings select the same roots.
func (s *Settings) SameRoots(other *Settings) bool {
	return reflect.DeepEqual(s.Roots, other.Roots) && reflect.DeepEqual(s.Charts, other.Charts) && s.Limits == other.Limits &&
		s.Kustomize == other.Kustomize
}

// OwnersPaths lists the places of a CODEOWNERS file; the first that exists counts.
func OwnersPaths() []string { return []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} }

// AllApprovers returns who may approve exceptions, including defaults. Code owners are included only if the tree has a
// CODEOWNERS file.
func (s *Settings) AllApprovers() report.Approvers {
	if s.unread {
		return report.Approvers{Nobody: true, Count: 1}
	}
	a := report.Approvers{
		Users: s.Approvers.Users, Teams: s.Approvers.Teams, CodeOwners: true, Count: max(1, s.Approvers.Count),
	}
	if s.Approvers.CodeOwners != nil {
		a.CodeOwners = *s.Approvers.CodeOwners
	}
	a.CodeOwners = a.CodeOwners && !s.unowned
	return a
}

// Read returns the settings of a tree. Invalid settings are problems, which fail the check. The defaults then apply,
// except that nothing is fetched if the settings may restrict sources, and that nobody may approve exceptions. It fails for
// errors of the repository.
func Read(t *tree.Tree) (*Settings, []report.Problem, error) {
	s, problems, err := read(t)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range Paths()[1:] {
		if _, err := t.Entry(p); err == nil {
			problems = append(problems, report.Problem{Path: p, Message: "is not read: rename it to " + Path + ", or remove it"})
			if s.written == nil {
				s = unreadable()
			}
		}
	}
	s.unowned = !slices.ContainsFunc(OwnersPaths(), func(p string) bool {
		_, _, err := t.Lookup(p)
		return err == nil
	})
	return s, problems, nil
}

// unreadable returns what applies in place of settings that cannot be read. Nothing is fetched: the settings may
// restrict sources.
func unreadable() *Settings {
	s := Default()
	s.unread, s.Sources.Allow = true, []string{}
	return s
}

func read(t *tree.Tree) (*Settings, []report.Problem, error) {
	s := Default()
	data, _, err := t.ReadFile(Path)
	var large *tree.TooLargeError
	switch {
	case errors.Is(err, tree.ErrNotExist):
		if _, err := t.Entry(Path); err != nil {
			return s, nil, nil
		}
		return unreadable(), []report.Problem{{Path: Path,
			Message: "is neither a file nor a link to a file of the repository: write the settings into a file"}}, nil
	case errors.As(err, &large):
		return unreadable(), []report.Problem{{Path: Path, Message: large.Error()}}, nil
	case err != nil:
		return nil, nil, err
	}
	problems := parseSettings(data, s)
	if len(problems) > 0 {
		s = unreadable()
		if !bytes.Contains(data, []byte("sources")) {
			s.Sources.Allow = nil
		}
	}
	return s, problems, nil
}

// parseSettings decodes a settings file into s, which contains the defaults.
func parseSettings(data []byte, s *Settings) []report.Problem {
	documents, err := doc.Parse(Path, data, doc.Limits{Nodes: 20_000, Depth: 20})
	if e, ok := errors.AsType[*doc.Error](err); ok {
		return []report.Problem{{Path: Path, Line: e.Line, Column: e.Column, Message: e.Message}}
	}
	if len(documents) > 1 {
		return []report.Problem{{Path: Path, Line: documents[1].Line, Message: "holds more than one document"}}
	}
	if len(documents) == 0 {
		return nil
	}
	if documents[0].Kind != yaml.MappingNode {
		return []report.Problem{problemAt(documents[0], "", "must be a map with the fields %s",
			strings.Join(fieldNames(reflect.TypeFor[Settings]()), ", "))}
	}
	f := &form{}
	if f.value(documents[0], reflect.TypeFor[Settings](), ""); len(f.problems) > 0 {
		return f.problems
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil {
		return []report.Problem{{Path: Path, Message: "cannot be read: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	s.written = documents[0]
	s.Mode, s.Unrendered = cmp.Or(s.Mode, ModeEnforce), cmp.Or(s.Unrendered, UnrenderedNeutral)
	s.Suggestions = cmp.Or(s.Suggestions, SuggestionsOff)
	s.Kustomize.LoadRestrictor = cmp.Or(s.Kustomize.LoadRestrictor, LoadRestrictionsRootOnly)
	return s.judge()
}

// judge validates the values of settings.
func (s *Settings) judge() []report.Problem {
	f := &form{}
	fail := func(value, field, format string, args ...any) {
		f.report(s.at(value, strings.Split(field, ".")...), field, format, args...)
	}
	if s.Approvers.Count < 0 {
		fail("", "approvers.count", "cannot be negative: write 1 or more")
	}
	shown, _ := fieldAt("annotations.max")
	if n := s.Annotations.Max; n != nil && (*n < 0 || int64(*n) > *shown.Most) {
		fail(strconv.Itoa(*n), shown.Path, "must be a whole number from 0 (none) to %d", *shown.Most)
	}
	for _, team := range s.Approvers.Teams {
		if org, slug, ok := strings.Cut(team, "/"); !ok || org == "" || slug == "" {
			fail(team, "approvers.teams", "%q must be written as organization/team", team)
		}
	}
	s.eachGlob(func(g Glob, keys []string) {
		if problem := globProblem(g.Text); problem != "" && g.Names != NamesPolicies && g.Names != NamesCharts { // see below
			f.report(s.at(g.Text, keys...), g.Field, "%s", problem)
		}
	})
	for _, e := range s.Policies {
		if problem := PolicySourceProblem(report.PolicySource(e)); problem != "" {
			fail(cmp.Or(e.Repository, e.Path), "policies", "%s", problem)
		}
	}
	for _, pattern := range s.Sources.Allow {
		if _, err := remote.CompileGlobs(pattern); err != nil {
			fail(pattern, "sources.allow", "%v", err)
		}
	}
	return slices.Concat(f.problems, s.chartProblems(), s.clusterProblems())
}

// globProblem returns the error of a glob; empty if it is valid.
func globProblem(glob string) string {
	if _, ok := tree.Clean(glob); !ok {
		return fmt.Sprintf("%q points outside the repository", glob)
	}
	if _, err := roots.Glob(glob); err != nil {
		return err.Error()
	}
	return ""
}

// Edits lists the fields that differ between two versions of the settings.
func Edits(a, b *Settings) []string {
	var fields []string
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if !x.Type().Field(i).IsExported() {
			continue
		}
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			fields = append(fields, x.Type().Field(i).Tag.Get("yaml"))
		}
	}
	return fields
}

// Under reports whether a path is one of the named files, is in a named folder, or matches a glob.
func Under(p string, named []string) bool {
	return slices.ContainsFunc(named, func(n string) bool {
		n = path.Clean(strings.TrimSuffix(n, "/"))
		if n == "." || p == n || strings.HasPrefix(p, n+"/") {
			return true
		}
		re, err := roots.Glob(n)
		return err == nil && re.MatchString(p)
	})
}

// Teams lists the teams that the settings map to users of the cluster, sorted.
func (s *Settings) Teams() []string { return slices.Sorted(maps.Keys(s.Identities.Teams)) }

// Block says what fails a check besides new violations of enforced rules.
type Block struct {
	Existing bool `yaml:"existing"` // pre-existing violations
	Audit    bool `yaml:"audit"`    // violations of rules that only audit
}

// The short forms of Block.
const (
	blockNew = "new" // the zero value
	blockAll = "all" // Existing
)

// UnmarshalYAML decodes a map or a short form, which form has validated.
func (b *Block) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*b = Block{Existing: n.Value == blockAll}
		return nil
	}
	type plain Block
	return n.Decode((*plain)(b))
}

// Mode says whether findings fail a check.
type Mode string

// The modes.
const (
	ModeEnforce  Mode = "enforce"  // findings fail the check; the default
	ModeAdvisory Mode = "advisory" // for a roll-out: the check says what would fail, and is neutral at most
)

// Limits limit the cost of a check; zero means the default. Time and memory of a whole check are limited by whoever
// runs it.
type Limits struct {
	FileBytes int64 `yaml:"fileBytes"` // of one file; default 16 MiB
	Files     int   `yaml:"files"`     // and folders of the repository; default 2,000,000
	Depth     int   `yaml:"depth"`     // nesting within a file; default 100
	Nodes     int   `yaml:"nodes"`     // of one file, aliases replaced; default 500,000
	Layers    int   `yaml:"layers"`    // kustomizations of one root, counted each time; default 2,000
	Bases     int   `yaml:"bases"`     // bases of bases; default 32
	Resources int   `yaml:"resources"` // of one root; default 20,000
}

// Sources restrict what may be fetched.
type Sources struct {
	Allow []string `yaml:"allow"` // patterns of addresses ("https://github.com/example/**"); nil: what the operator allows
}

// Render returns the limits of rendering.
func (l Limits) Render() render.Limits {
	return render.Limits{Source: doc.Limits{Nodes: l.Nodes, Depth: l.Depth}, Layers: l.Layers, Depth: l.Bases,
		Resources: l.Resources}
}

// Requester is the author of a change as a user of the cluster.
type Requester struct {
	Info                admission.UserInfo
	Roles, ClusterRoles []string
}

// Requester maps the author's account and teams to a user of the cluster. An account that is not listed keeps its name,
// unless that is the name of the user of another account: then it has none. Every user is in the groups that all users of
// a cluster are in. Names of accounts are compared without regard to case, as on GitHub.
func (s *Settings) Requester(u report.User) Requester {
	r := Requester{Info: admission.UserInfo{Username: u.Login}}
	var mine Identity
	for account, i := range s.Identities.Users {
		if strings.EqualFold(account, u.Login) {
			mine = i
		} else if i.Username == u.Login {
			r.Info.Username = ""
		}
	}
	if i, listed := s.Identities.Users[u.Login]; listed {
		mine = i
	}
	add := func(i Identity) {
		if i.Username != "" {
			r.Info.Username = i.Username
		}
		r.Info.Groups = append(r.Info.Groups, i.Groups...)
		r.Roles = append(r.Roles, i.Roles...)
		r.ClusterRoles = append(r.ClusterRoles, i.ClusterRoles...)
	}
	for _, team := range u.Teams {
		i := s.Identities.Teams[team]
		i.Username = "" // a team is not a user
		add(i)
	}
	add(mine)
	r.Info = r.Info.Completed()
	for _, list := range []*[]string{&r.Info.Groups, &r.Roles, &r.ClusterRoles} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}

// Request returns an admission request of the requester, without objects.
func (r Requester) Request(operation admission.Operation) *admission.Request {
	return &admission.Request{Operation: operation, Applied: true, UserInfo: r.Info, Roles: r.Roles, ClusterRoles: r.ClusterRoles}
}
