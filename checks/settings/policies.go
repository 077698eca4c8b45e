package settings

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

// Policies are the sources of policies: files, folders and globs in the repository, and other repositories.
type Policies []PolicyEntry

// PolicyEntry is one source. Without a repository, the path is in the repository itself, and may be written as a
// string.
type PolicyEntry report.PolicySource

// UnmarshalYAML decodes a string or a map, which form has validated.
func (p *PolicyEntry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = PolicyEntry{Path: n.Value}
		return nil
	}
	type plain PolicyEntry
	return n.Decode((*plain)(p))
}

// Paths returns the entries in the repository itself.
func (p Policies) Paths() []string {
	own := report.Kept(p, func(e PolicyEntry) bool { return e.Repository == "" })
	return report.Mapped(own, func(e PolicyEntry) string { return e.Path })
}

// External returns the entries in other repositories.
func (p Policies) External() []report.PolicySource {
	others := report.Kept(p, func(e PolicyEntry) bool { return e.Repository != "" })
	return report.Mapped(others, func(e PolicyEntry) report.PolicySource { return report.PolicySource(e) })
}

// PolicyLine is the line of an entry for another repository; 0 if there is none.
func (s *Settings) PolicyLine(of report.PolicySource) (line int) {
	list, entries := s.Policies, s.written
	for _, key := range s.policiesField() {
		_, entries = doc.Field(entries, key)
	}
	if entries == nil || len(entries.Content) != len(list) {
		return 0
	}
	for i, e := range list {
		if e.Repository != "" && report.PolicySource(e).String() == of.String() {
			line = entries.Content[i].Line
		}
	}
	return line
}

// ownerName matches a repository in the form of GitHub.
var ownerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}$`)
})

// PolicySourceProblem returns the error of a source of policies; empty if it is valid.
func PolicySourceProblem(s report.PolicySource) string {
	problem := ""
	if s.Path != "" {
		problem = globProblem(s.Path)
	}
	switch {
	case s.Repository == "" && s.Ref != "":
		return "repository is missing: name the repository of the ref"
	case s.Repository == "" && s.Path == "":
		return "is empty: name a file, a folder or a glob"
	case problem != "":
		return problem
	case strings.ContainsAny(s.Ref, " \t\r\n") || strings.HasPrefix(s.Ref, "-"):
		return fmt.Sprintf("%q is not a branch, a tag or a commit", s.Ref)
	case s.Repository == "" || ownerName().MatchString(s.Repository):
		return ""
	}
	if _, err := remote.Address(s.Repository); err != nil || !strings.Contains(s.Repository, ":") {
		return fmt.Sprintf("%q is not a repository: write owner/name, or its address with https://", s.Repository)
	}
	return ""
}
