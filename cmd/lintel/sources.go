package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

// sourcesOptions are the options for fetching remote sources in commands that run on a laptop.
type sourcesOptions struct {
	file, store string
	offline     bool
}

func (o *sourcesOptions) flags(cmd *cobra.Command) {
	o.storeFlags(cmd)
	cmd.Flags().BoolVar(&o.offline, "offline", false, "use only sources that were fetched before (see \"lintel fetch\")")
}

// storeFlags are the flags of commands that have to use the network.
func (o *sourcesOptions) storeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "sources", os.Getenv("LINTEL_SOURCES"), "the file with the allowed remote sources and "+
		"their credentials (default: lintel/sources.yaml in the user's configuration folder, if it exists)")
	f.StringVar(&o.store, "store", os.Getenv("LINTEL_STORE"), "the folder of the source cache (default: "+
		"lintel-sources in the user's cache folder)")
}

// open returns the user's store. If there is no place for one it returns nil, and prints that remote sources are not
// checked. The folder is created when something is stored.
func (o *sourcesOptions) open(ctx context.Context, git string) (*remotes.Resolver, error) {
	options, rules, err := o.place(git)
	if err != nil || options.Dir == "" {
		return nil, err
	}
	return &remotes.Resolver{GitDir: options.GitDir(), Open: func(a remotes.Request) (base, head remotes.Fetcher, done func(),
		err error) {
		kept, err := remote.OpenStore(ctx, options)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("the source cache cannot be opened: %w", err)
		}
		narrowed, err := rules.Narrow(a.Allow)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("sources.allow in the settings: %w", err)
		}
		options := fetch.Options{Store: kept, Policy: narrowed, UserGit: true, Offline: o.offline}
		if a.Within > 0 {
			options.Deadline = time.Now().Add(a.Within)
		}
		f, err := fetch.New(options)
		if err != nil {
			return nil, nil, nil, err
		}
		return f, f, f.Close, nil
	}}, nil
}

// openStore opens the user's store and reads the policy for fetching. The store is nil if there is no place for one.
func (o *sourcesOptions) openStore(ctx context.Context, git string) (*remote.Store, *fetch.Policy, error) {
	options, rules, err := o.place(git)
	if err != nil || options.Dir == "" {
		return nil, rules, err
	}
	kept, err := remote.OpenStore(ctx, options)
	if err != nil {
		return nil, nil, fmt.Errorf("the source cache cannot be opened: %w", err)
	}
	return kept, rules, nil
}

// place returns where the store is, and the policy for fetching.
func (o *sourcesOptions) place(git string) (options remote.StoreOptions, rules *fetch.Policy, err error) {
	if rules, err = o.policy(); err != nil {
		return options, nil, err
	}
	dir := o.store
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return options, rules, nil
		}
		dir = filepath.Join(cache, "lintel-sources") // not below the cache, which sandboxes write
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return options, nil, err
	}
	return remote.StoreOptions{Dir: dir, Git: git}, rules, nil
}

// policy reads the policy for fetching.
func (o *sourcesOptions) policy() (*fetch.Policy, error) {
	file := o.file
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return fetch.DefaultPolicy(), nil
		}
		file = filepath.Join(dir, "lintel", "sources.yaml")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fetch.DefaultPolicy(), nil
		}
	}
	return fetch.LoadPolicy(file)
}
