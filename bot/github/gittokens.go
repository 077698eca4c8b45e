package github

import (
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

const (
	// gitTokenAge is how long a token is given to git processes.
	gitTokenAge = 10 * time.Minute
	// gitTokenLeft is what it has to live then: more than a fetch takes.
	gitTokenLeft = 30 * time.Minute
)

// gitTokens are tokens of one installation for git, by the id of the repository that they can read.
type gitTokens struct {
	mu   sync.Mutex
	byID map[int64]gitToken
}

type gitToken struct {
	token string
	until time.Time
}

func (g *gitTokens) get(repository int64, now time.Time) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.byID[repository]
	return t.token, ok && now.Before(t.until)
}

// put remembers a token; one of a repository without an id is not.
func (g *gitTokens) put(repository int64, token string, now time.Time, from *ghinstallation.Transport) {
	until := now.Add(gitTokenAge)
	end, _, err := from.Expiry()
	if err != nil || repository == 0 {
		return
	}
	if end = end.Add(-gitTokenLeft); end.Before(until) {
		until = end
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, t := range g.byID {
		if !now.Before(t.until) {
			delete(g.byID, id)
		}
	}
	if g.byID == nil {
		g.byID = map[int64]gitToken{}
	}
	g.byID[repository] = gitToken{token, until}
}

// forget drops all tokens.
func (g *gitTokens) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.byID)
}
