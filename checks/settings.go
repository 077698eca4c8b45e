package checks

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// SettingsPath is where a repository keeps its settings.
const SettingsPath = ".lintel.yaml"

// Settings are what a repository decides about its checks. They are read at the tip of the base branch, never
// from the change itself. Every field has a default; an empty file or none works.
type Settings struct {
	Policies   []string         `yaml:"policies"`   // files and folders; default: by kind, anywhere
	Exceptions []string         `yaml:"exceptions"` // when set, an exception anywhere else does not count
	Approvers  ApproverSettings `yaml:"approvers"`
	Roots      RootSettings     `yaml:"roots"`
	Context    []string         `yaml:"context"` // files with objects that policies may look up though they are not deployed from here
	Identities IdentitySettings `yaml:"identities"`
	Block      string           `yaml:"block"` // "new" (default) or "all"
	Limits     LimitSettings    `yaml:"limits"`
}

// ApproverSettings say whose review makes an exception count.
type ApproverSettings struct {
	Users      []string `yaml:"users"`
	Teams      []string `yaml:"teams"`
	CodeOwners *bool    `yaml:"codeowners"`
	Count      int      `yaml:"count"`
}

// RootSettings choose roots by globs over their folders.
type RootSettings struct {
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
}

// IdentitySettings map accounts of the hosting side to users of the cluster.
type IdentitySettings struct {
	Users map[string]Identity `yaml:"users"`
	Teams map[string]Identity `yaml:"teams"`
}

// Identity is a user of the cluster, or what a team adds to one.
type Identity struct {
	Username     string   `yaml:"username"`
	Groups       []string `yaml:"groups"`
	Roles        []string `yaml:"roles"`
	ClusterRoles []string `yaml:"clusterRoles"`
}

func (s *Settings) roots(repository []string) roots.Options {
	return roots.Options{Include: s.Roots.Include, Exclude: s.Roots.Exclude, Limits: s.Limits.render().Source,
		Marks: ruleMarks(), Repository: repository}
}

func (s *Settings) approvers() *report.Approvers {
	a := &report.Approvers{Users: s.Approvers.Users, Teams: s.Approvers.Teams, CodeOwners: true, Count: max(1, s.Approvers.Count)}
	if s.Approvers.CodeOwners != nil {
		a.CodeOwners = *s.Approvers.CodeOwners
	}
	return a
}

// readSettings reads the settings of a tree. What cannot be read is a problem; the defaults then apply, and the
// problem fails the check.
func readSettings(t *tree.Tree) (*Settings, []report.Problem, error) {
	s := &Settings{Block: "new"}
	data, _, err := t.ReadFile(SettingsPath)
	if errors.Is(err, tree.ErrNotExist) {
		return s, nil, nil
	}
	var large *tree.TooLargeError
	if errors.As(err, &large) {
		return s, []report.Problem{{Path: SettingsPath, Message: large.Error()}}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	problems := parseSettings(data, s)
	if len(problems) > 0 {
		s = &Settings{Block: "new"}
	}
	return s, problems, nil
}

// parseSettings decodes a settings file into s, which holds the defaults.
func parseSettings(data []byte, s *Settings) []report.Problem {
	documents, err := source.Parse(SettingsPath, data, source.Limits{Nodes: 20_000, Depth: 20})
	var e *source.Error
	if errors.As(err, &e) {
		return []report.Problem{{Path: SettingsPath, Line: e.Line, Column: e.Column, Message: e.Message}}
	}
	if len(documents) > 1 {
		return []report.Problem{{Path: SettingsPath, Line: documents[1].Line, Message: "holds more than one document"}}
	}
	if len(documents) == 0 {
		return nil
	}
	if problems := limitProblems(documents[0]); len(problems) > 0 {
		return problems
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil {
		return settingsProblems(err)
	}
	var problems []report.Problem
	fail := func(field, format string, args ...any) {
		key, _ := source.Field(documents[0], field)
		p := report.Problem{Path: SettingsPath, Message: field + ": " + fmt.Sprintf(format, args...)}
		if key != nil {
			p.Line, p.Column = key.Line, key.Column
		}
		problems = append(problems, p)
	}
	switch s.Block {
	case "":
		s.Block = "new"
	case "new", "all":
	default:
		fail("block", "%q is not known: write new or all", s.Block)
	}
	if s.Approvers.Count < 0 {
		fail("approvers", "count cannot be negative")
	}
	for _, team := range s.Approvers.Teams {
		if org, slug, ok := strings.Cut(team, "/"); !ok || org == "" || slug == "" {
			fail("approvers", "the team %q needs the form org/team", team)
		}
	}
	for _, list := range []struct {
		field string
		globs []string
	}{{"roots", append(append([]string{}, s.Roots.Include...), s.Roots.Exclude...)}, {"policies", s.Policies}, {"exceptions", s.Exceptions}, {"context", s.Context}} {
		for _, g := range list.globs {
			if _, ok := tree.Clean(g); !ok {
				fail(list.field, "%q leads out of the repository", g)
			} else if _, err := roots.Glob(g); err != nil {
				fail(list.field, "%v", err)
			}
		}
	}
	return problems
}

var (
	settingsLine  = regexp.MustCompile(`^line (\d+): (.*)$`)
	settingsField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
)

// settingsProblems splits the decoder's error into one problem a line.
func settingsProblems(err error) []report.Problem {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return []report.Problem{{Path: SettingsPath, Message: "cannot be read: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	var problems []report.Problem
	for _, text := range typed.Errors {
		p := report.Problem{Path: SettingsPath, Message: text}
		if m := settingsLine.FindStringSubmatch(text); m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.Message = m[2]
		}
		if m := settingsField.FindStringSubmatch(p.Message); m != nil {
			p.Message = fmt.Sprintf("the field %q is not known: see the settings in the README", m[1])
		}
		problems = append(problems, p)
	}
	return problems
}
