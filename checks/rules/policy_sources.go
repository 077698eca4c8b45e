package rules

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/remote"
)

// elsewhere adds the policies outside of the repository: those that its settings name, those that the caller of the
// check names, and those of the organisation. A source that cannot be fetched is a problem, since its policies are not
// in effect.
func (out *Sources) elsewhere(ctx context.Context, c diff.Commit) error {
	from := c.PolicySources
	for _, s := range out.Settings.Policies.External() {
		at := report.Problem{Path: settings.Path, Line: out.Settings.PolicyLine(s)}
		if err := out.fetched(ctx, from, s, at); err != nil {
			return err
		}
	}
	for _, s := range from.Policies {
		problems := len(out.Problems)
		if err := out.fetched(ctx, from, s, report.Problem{}); err != nil {
			return err
		}
		out.PassedOn = append(out.PassedOn, out.Problems[problems:]...)
		out.Problems = out.Problems[:problems]
	}
	for _, f := range from.Files {
		if !slices.ContainsFunc(out.Policies, func(s Source) bool {
			return s.Path == f.Path && string(s.Data) == string(f.Data)
		}) {
			out.Policies = append(out.Policies, Source{File: File{Path: f.Path, Data: f.Data}, given: true})
		}
	}
	if out.Settings.Inherits() == nil {
		return nil
	}
	return out.inherited(ctx, from)
}

// fetched adds the policies of a source.
func (out *Sources) fetched(ctx context.Context, from diff.PolicySources, s report.PolicySource, at report.Problem) error {
	set := &settings.Settings{Limits: out.Settings.Limits}
	if s.Path != "" {
		set.Policies = settings.Policies{{Path: s.Path}}
	}
	want := from.Want(s)
	found, src, err := find(ctx, from, want, set, false)
	if err != nil || src == nil {
		return out.lacks(s.String(), at, err)
	}
	out.take(found, src, at, false)
	out.Resolved = append(out.Resolved, resolved(src, at))
	if len(found.Policies) == 0 && len(found.Problems) == 0 {
		at.Message = "policies: there are no policies in " + s.String() + ": correct the path"
		out.Problems = append(out.Problems, at)
	}
	return nil
}

// inherited adds the policies of the organisation and its exceptions.
func (out *Sources) inherited(ctx context.Context, from diff.PolicySources) error {
	want := remote.Want{Kind: remote.Git, URL: from.Defaults}
	found, src, err := find(ctx, from, want, out.Settings.Inherits(), true)
	if err != nil || src == nil {
		return out.lacks("the organisation ("+from.Defaults+")", report.Problem{}, err)
	}
	_, broken, err := settings.Read(src.Tree)
	if err != nil {
		return err
	}
	found.Problems = append(found.Problems, broken...)
	out.take(found, src, report.Problem{}, true)
	out.Resolved = append(out.Resolved, resolved(src, report.Problem{}))
	return nil
}

// find finds the policies of a fetched source, and its exceptions if requested.
func find(ctx context.Context, from diff.PolicySources, w remote.Want, s *settings.Settings, exceptions bool) (*Sources,
	*remote.Source, error) {
	src, c, err := from.Open(w)
	if err != nil {
		return nil, nil, err
	}
	if w.Kind == remote.File {
		data, _, err := c.Tree.ReadFile(remote.FileName)
		return &Sources{Settings: s, Policies: []Source{{File: File{Path: remote.Redacted(w.URL), Data: data}}}}, src, err
	}
	c.Roots, err = deploy.Open(c.Tree, s.RootOptions(nil, nil), from.Graph(w.URL), render.Config{Cache: c.Renderings})
	if err != nil {
		return nil, nil, err
	}
	out := &Sources{Settings: s, reads: map[string]map[string]string{}}
	if exceptions {
		if err := out.exceptions(ctx, c); err != nil {
			return nil, nil, err
		}
	}
	return out, src, out.policies(ctx, c)
}

// lacks reports that policies are not in effect because their source could not be fetched. It returns other errors.
func (out *Sources) lacks(name string, at report.Problem, err error) error {
	var failure *remote.Failure
	switch {
	case errors.As(err, &failure):
		at.Message = "the policies of " + name + " are not in effect: " + failure.Message
	case errors.Is(err, remote.ErrWanted):
		at.Message = "the policies of " + name + " are not in effect: they have not been fetched"
	default:
		return err
	}
	out.Problems = append(out.Problems, at)
	return nil
}

// take adds the rules of another repository. Their paths begin with its address.
func (out *Sources) take(found *Sources, src *remote.Source, at report.Problem, inherited bool) {
	address := Address(src.Want.URL, src.Revision) + "//"
	placed := func(list []Source) (all []Source) {
		for _, s := range list {
			if !IsExternal(s.Path) { // that repository may itself take rules from others
				s.Path = address + s.Path
				if s.Folder != "" {
					s.Folder = address + s.Folder
				}
			}
			s.Inherited, s.outside, s.at = inherited, true, at
			all = append(all, s)
		}
		return all
	}
	out.Policies = append(out.Policies, placed(found.Policies)...)
	out.Exceptions = append(out.Exceptions, placed(found.Exceptions)...)
	for _, p := range found.Problems {
		out.Problems = append(out.Problems, moved(p, address, at))
	}
}

// Address returns the beginning of paths of rules in another repository, at one revision.
func Address(repository, revision string) string {
	return strings.TrimSuffix(remote.Redacted(repository), "/") + "@" + revision
}

// Named returns the place where the settings name the repository of a file of rules. It returns false for a file of
// this repository.
func (out *Sources) Named(path string) (report.Problem, bool) {
	if out != nil && IsExternal(path) {
		for _, s := range slices.Concat(out.Policies, out.Exceptions) {
			if s.Path == path {
				return s.at, true
			}
		}
	}
	return report.Problem{}, false
}

// Inherited returns the names of the organisation's policies, in the form that exceptions use.
func (out *Sources) Inherited() (names []string) {
	for _, s := range out.Policies {
		if s.Inherited {
			for _, d := range Documents([]Source{s}, false) {
				names = append(names, d.FullName())
			}
		}
	}
	return names
}

// FindInherited finds the policies of the organisation alone.
func FindInherited(ctx context.Context, c diff.Commit, s *settings.Settings) (*Sources, error) {
	out := &Sources{Settings: s}
	if s.Inherits() == nil {
		return out, nil
	}
	return out, out.inherited(ctx, c.PolicySources)
}

// moved converts a problem of another repository to one at the place where this repository names it.
func moved(p report.Problem, address string, at report.Problem) report.Problem {
	if p.Path != "" && !IsExternal(p.Path) {
		p.Path = address + p.Path
	}
	repository, file, ok := strings.Cut(p.Path, "//")
	if scheme := repository + "//"; ok {
		repository, file, ok = strings.Cut(file, "//")
		repository = scheme + repository
	}
	if i := strings.LastIndexByte(repository, '@'); ok && i > 0 {
		repository = repository[:i]
	}
	p.Path = file
	if at.Message = p.String(); ok {
		at.Message = "the policies of " + repository + ": " + at.Message
	}
	return at
}

// IsExternal reports whether a path is in another repository, so that it is an address (see origin.Link).
func IsExternal(path string) bool { return strings.Contains(path, "://") }

func resolved(src *remote.Source, at report.Problem) report.Resolved {
	return report.Resolved{Name: remote.Redacted(src.Want.URL), Ref: src.Want.Ref, Revision: src.Revision, Path: at.Path,
		Line: at.Line}
}
