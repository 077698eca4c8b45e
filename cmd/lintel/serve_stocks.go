package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/supply"
)

// stocks is what the server keeps on disk to do its work with. Each installation has folders of its own, in which each
// repository has a mirror; and each repository has a cache.
type stocks struct {
	mirrors *mirror.Mirrors
	outside *supply.Supply
	cache   string // folder of the caches
}

// supply is what gets things from outside, as LINTEL_SOURCES has it.
func (o *serveOptions) supply(dataDir string, app *identity, log *slog.Logger) (*supply.Supply, error) {
	return supply.New(supply.Config{Dir: filepath.Join(dataDir, "sources"), Client: app.client, Policy: o.rules,
		Budget: o.checkTimeout, Log: log})
}

// owned returns the folders that the checks of a repository may use, named as bot.Worker does: sandbox.Config.Owned. They
// read its mirror and what its installation fetched, and write its cache.
func (s stocks) owned(log *slog.Logger) func(string) ([]string, string) {
	return func(owner string) ([]string, string) {
		var repo github.Repo
		if _, err := fmt.Sscanf(owner, "%d.%d", &repo.Installation, &repo.ID); err != nil ||
			owner != fmt.Sprintf("%d.%d", repo.Installation, repo.ID) {
			return nil, ""
		}
		read := []string{s.mirrors.GitDir(repo)}
		fetched, err := s.outside.Folder(context.Background(), repo.Installation)
		if err == nil {
			read = append(read, fetched)
		} else {
			log.Warn("the folder for what is fetched could not be made", "installation", repo.Installation, "error", err)
		}
		return read, filepath.Join(s.cache, owner)
	}
}

const (
	// tidyEvery is between looks for what nobody needs any more.
	tidyEvery = time.Hour
	// keepUnused is how long a copy or a cache stays without a check that uses it.
	keepUnused = 14 * 24 * time.Hour
)

// upkeep does what others do in the background, and keeps the copies of repositories, what was fetched and the caches
// from filling the disk, until ctx ends.
func upkeep(ctx context.Context, s stocks, log *slog.Logger, others ...func(context.Context)) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, other := range others {
		running.Go(func() { other(ctx) })
	}
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		unused := time.Now().Add(-keepUnused)
		for _, stock := range []struct {
			name string
			tidy func() error
		}{
			{"the copies of repositories", func() error { return s.mirrors.Maintain(ctx, unused) }},
			{"what was fetched from outside", func() error { return s.outside.Maintain(ctx) }},
			{"the caches of checks", func() error { return tidyCaches(s.cache, unused) }},
		} {
			if err := stock.tidy(); err != nil && ctx.Err() == nil {
				log.Warn(stock.name+" could not be tidied", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tidyCaches removes the folders in which no file was used since a time.
func tidyCaches(dir string, unusedSince time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		used := false
		err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if used = err == nil && info.ModTime().After(unusedSince); used {
				return filepath.SkipAll
			}
			return err
		})
		if err == nil && !used {
			err = os.RemoveAll(folder)
		}
		if !errors.Is(err, fs.ErrNotExist) { // somebody makes room
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
