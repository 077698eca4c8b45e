package remotes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// defaultsAddress is what an installation has above its other repositories, as it was when GitHub was asked.
type defaultsAddress struct {
	address string // of the repository with the organisation's defaults; empty: there is none
	at      time.Time
}

// defaultsFor is for how long GitHub is not asked again: it lists the repositories of an installation, a hundred a request.
const defaultsFor = 5 * time.Minute

// defaultsNames are what the repository with an organisation's defaults is called, the best first.
func defaultsNames() []string { return []string{".lintel", ".github"} }

// defaults implements Resolver.Defaults: the repository of the organisation of that name, if the App is installed
// there. None of these has any above it.
func (a *asker) defaults(ctx context.Context) (string, error) {
	repo := a.change.Repo
	if slices.Contains(defaultsNames(), strings.ToLower(repo.Name)) {
		return "", nil
	}
	a.Cache.mu.Lock()
	known, ok := a.defaultsOf[repo.Installation]
	a.Cache.mu.Unlock()
	if ok && time.Since(known.at) < defaultsFor {
		return known.address, nil
	}
	list, err := a.c.Client.Repositories(ctx, repo.Installation)
	if err != nil {
		return "", fmt.Errorf("asking for the organisation's defaults: %w", err)
	}
	known = defaultsAddress{at: time.Now()}
	for _, name := range defaultsNames() {
		i := slices.IndexFunc(list, func(r forge.Repo) bool {
			return strings.EqualFold(r.Name, name) && strings.EqualFold(r.Owner, repo.Owner)
		})
		if i >= 0 {
			known.address = strings.TrimSuffix(a.c.Client.CloneURL(list[i]), ".git")
			break
		}
	}
	a.Cache.mu.Lock()
	defer a.Cache.mu.Unlock()
	if len(a.defaultsOf) > maxDefaults {
		clear(a.defaultsOf)
	}
	a.defaultsOf[repo.Installation] = known
	return known.address, nil
}

// maxDefaults bounds of how many installations it is remembered.
const maxDefaults = 10_000
