package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/remote"
)

// policyOptions are the rules that a check uses in addition to those of the repository.
type policyOptions struct {
	policies []string
	defaults string
}

func (o *policyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.policies, "policy", "p", nil, "policies to add to the repository's: a file, a folder, or an "+
		"address such as https://github.com/octo-org/policies//kyverno?ref=v1 (may be repeated)")
	f.StringVar(&o.defaults, "defaults", "", "the repository with the organisation's defaults, as for the App "+
		"(octo-org/.lintel, or its address)")
}

// apply adds the rules to a change.
func (o *policyOptions) apply(cmd *cobra.Command, repo *repository, change *report.Change) error {
	ctx := cmd.Context()
	change.Host = repo.host(ctx)
	if o.defaults != "" {
		s := report.PolicySource{Repository: o.defaults}
		if problem := settings.PolicySourceProblem(s); problem != "" {
			return fmt.Errorf("--defaults: %s", problem)
		}
		if change.Defaults = o.defaults; !strings.Contains(o.defaults, ":") {
			change.Defaults = change.Host + "/" + o.defaults
		}
	}
	reader := fileReader{ctx: ctx, stdin: cmd.InOrStdin()}
	for _, p := range o.policies {
		if strings.Contains(p, "://") {
			a, err := parseAddress(p, "")
			if err != nil {
				return fmt.Errorf("--policy %s: %w", remote.Redacted(p), err)
			}
			s := report.PolicySource{Repository: a.want.URL, Ref: a.want.Ref, Path: a.dir}
			if s.Path == "." {
				s.Path = ""
			}
			if problem := settings.PolicySourceProblem(s); problem != "" {
				return fmt.Errorf("--policy %s: %s", remote.Redacted(p), problem)
			}
			change.Policies = append(change.Policies, s)
			continue
		}
		files, err := reader.read(p, "")
		if err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		if !rules.HavePolicies(files) {
			return fmt.Errorf("--policy: there are no policies in %s", p)
		}
		for _, f := range files {
			change.PolicyFiles = append(change.PolicyFiles, report.PolicyFile{Path: repo.named(ctx, f.Path), Data: f.Data})
		}
	}
	return nil
}

// host returns the host of repositories that are named "owner/name": that of the remote "origin".
func (r *repository) host(ctx context.Context) string {
	u := r.origin(ctx)
	switch {
	case u.Hostname() == "":
		return "https://github.com"
	case u.Scheme == "ssh" || u.Scheme == "git":
		return "https://" + strings.ToLower(u.Hostname())
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if parts := strings.Split(path, "/"); len(parts) > 2 { // a server below a folder
		return u.Scheme + "://" + u.Host + "/" + strings.Join(parts[:len(parts)-2], "/")
	}
	return u.Scheme + "://" + u.Host
}

// named returns the name of a file for findings: relative to the top folder for files of the repository, like its own
// policies, and as given for others.
func (r *repository) named(ctx context.Context, file string) string {
	top, err := r.top(ctx)
	if err != nil {
		return file
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	if in, err := filepath.Rel(top, full); err == nil && filepath.IsLocal(in) {
		return filepath.ToSlash(in)
	}
	return file
}
