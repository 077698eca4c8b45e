package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/sources"
	"github.com/lintel-bot/lintel/fetch"
	"github.com/lintel-bot/lintel/fetch/policy"
	"github.com/lintel-bot/lintel/fetch/store"
)

// sourcesOptions say how a command of a laptop gets what comes from outside of the repository.
type sourcesOptions struct {
	file    string
	offline bool
}

func (o *sourcesOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "sources", os.Getenv("LINTEL_SOURCES"), "the file that says what may be fetched from outside, and how "+
		"(default: lintel/sources.yaml in the user's configuration folder, if it is there)")
	f.BoolVar(&o.offline, "offline", false, "use only what was fetched before (see \"lintel fetch\")")
}

// open opens the user's store.
func (o *sourcesOptions) open(ctx context.Context, git string) (*sources.Store, error) {
	rules, err := o.policy()
	if err != nil {
		return nil, err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, nil // there is no place to keep anything in: what comes from outside is not checked, which is said
	}
	options := store.Options{Dir: filepath.Join(dir, "lintel", "sources"), Git: git}
	return &sources.Store{GitDir: options.GitDir(), Open: func(a sources.Asking) (base, head sources.Fetcher, done func(),
		err error,
	) {
		kept, err := store.Open(ctx, options) // not before there is something to put in
		if err != nil {
			return nil, nil, nil, fmt.Errorf("what was fetched cannot be opened: %w", err)
		}
		narrowed, err := rules.Narrow(a.Allow)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("sources.allow in the settings: %w", err)
		}
		f, err := fetch.New(fetch.Options{Store: kept, Policy: narrowed, UserGit: true, Offline: o.offline})
		if err != nil {
			return nil, nil, nil, err
		}
		return f, f, f.Close, nil
	}}, nil
}

// policy reads what may be fetched.
func (o *sourcesOptions) policy() (*policy.Policy, error) {
	file := o.file
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return policy.Default(), nil
		}
		file = filepath.Join(dir, "lintel", "sources.yaml")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return policy.Default(), nil
		}
	}
	return policy.Load(file)
}
