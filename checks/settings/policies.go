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

// Policies are where policies are written: files, folders and globs of the repository, and of other repositories.
type Policies []PolicyEntry

// PolicyEntry is one of them. Without a repository the path is one of the repository itself; it is then written as text.
type PolicyEntry report.PolicySource

// UnmarshalYAML reads a text, or a map. Its form was checked before.
func (p *PolicyEntry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*p = PolicyEntry{Path: n.Value}
		return nil
	}
	type plain PolicyEntry
	return n.Decode((*plain)(p))
}

// Paths are the entries of the repository itself.
func (p Policies) Paths() (list []string) {
	for _, e := range p {
		if e.Repository == "" {
			list = append(list, e.Path)
		}
	}
	return list
}

// External are the entries of other repositories.
func (p Policies) External() (list []report.PolicySource) {
	for _, e := range p {
		if e.Repository != "" {
			list = append(list, report.PolicySource(e))
		}
	}
	return list
}

// PolicyLine is the line of the settings with an entry of another repository, 0 where it has none.
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

// ownerName is a repository as GitHub names it.
var ownerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}$`)
})

// PolicySourceProblem returns what is wrong with where policies are written, empty for nothing.
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
