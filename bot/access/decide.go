package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// decideTimeout is how long a reader waits for a decision, and questionTimeout how long GitHub may take for one
	// question, whoever still waits.
	decideTimeout   = 10 * time.Second
	questionTimeout = 15 * time.Second
	// maxQuestions is how many questions are under way at GitHub at a time, of all readers.
	maxQuestions = 16
	// refusalTTL is how long a no is remembered: who was just let in at GitHub does not wait for long here.
	refusalTTL = 30 * time.Second
	// failureTTL is how long it is remembered that GitHub did not answer, so that it is not asked by each request.
	failureTTL = time.Second
	// maxRemembered bounds the answers of one kind; those not used for longest go first.
	maxRemembered = 20_000
	// reserve is the part of an hourly rate limit that is left to the checks: one of ten.
	reserve = 10
)

// presence is what GitHub says about a repository.
type presence struct {
	repo    forge.Repo
	gone    bool
	private bool
}

// place is a question for a repository. The installation is part of it, because the answer to one that is gone says
// nothing about the next.
type place struct{ installation, repository int64 }

// newAnswers remembers what GitHub says about one kind of question, each asked once at a time, and for a moment that it does
// not answer.
func newAnswers[K comparable, V any](slots chan struct{}, now func() time.Time) *store.Cache[K, V] {
	return store.NewCache[K](store.CacheConfig[V]{Limit: maxRemembered, Now: now, Places: slots, Wait: questionTimeout,
		Timeout: questionTimeout, Failure: failureTTL})
}

// right is a question for permission: may this account read this repository.
type right struct {
	place
	account int64
}

func of(repo forge.Repo) place { return place{repo.Installation, repo.ID} }

// Level decides what who sent a request may see of the pages about a repository. Of that, Private is what was known when the
// page was stored. The error, of Hidden only, is for the log. It asks GitHub where nothing is remembered, and one question of
// one kind at a time.
func (a *Access) Level(r *http.Request, repo forge.Repository) (Level, error) {
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	who, unknown := a.reader(ctx, r) // the error does not matter where everybody may see it
	if repo.ID <= 0 || repo.Installation <= 0 {
		return Hidden, nil
	}
	if who == nil || !repo.Private { // else what it says of the repository is asked for with it
		now, err := a.presences.Ask(ctx, of(repo.Repo), func(ctx context.Context) (presence, store.Span, error) {
			return a.present(ctx, repo.Repo)
		})
		switch {
		case err != nil:
			return Hidden, err
		case !now.gone && !now.private && who == nil && !repo.Private:
			return Public, nil
		case !now.gone && !now.private:
			return Private, nil // somebody in particular may see it
		case now.gone && !repo.Private:
			return Hidden, nil
		case who == nil || now.gone:
			return Hidden, unknown
		}
	}
	may, err := a.rights.Ask(ctx, right{of(repo.Repo), who.Account.ID}, func(ctx context.Context) (bool, store.Span, error) {
		return a.mayRead(ctx, repo.Repo, who.Account)
	})
	if err != nil || !may {
		return Hidden, err
	}
	return Private, nil
}

// present asks GitHub for a repository. The answer counts from before it was asked.
func (a *Access) present(ctx context.Context, repo forge.Repo) (presence, store.Span, error) {
	asked := a.config.Now()
	if err := a.spare(repo.Installation); err != nil {
		return presence{}, store.Span{}, err
	}
	p, err := a.config.Hub.Present(ctx, repo)
	switch {
	case forge.IsGone(err):
		return presence{repo: repo, gone: true}, store.Span{From: asked, Life: min(a.config.TTL, refusalTTL)}, nil
	case err != nil:
		return presence{}, store.Span{}, err
	}
	return presence{repo: p.Repo, private: p.Private}, store.Span{From: asked, Life: a.config.TTL}, nil
}

// mayRead asks GitHub for a permission. It looks for the repository anew, so that no name counts that was given to
// another repository since.
func (a *Access) mayRead(ctx context.Context, repo forge.Repo, account forge.Account) (bool, store.Span, error) {
	asked := a.config.Now()
	now, counts, err := a.present(ctx, repo)
	if err != nil {
		return false, store.Span{}, err
	}
	a.presences.Put(of(repo), now, counts)
	may := false
	switch {
	case now.gone:
	case !now.private:
		may = true
	default:
		if may, err = a.config.Hub.MayRead(ctx, now.repo, account); err != nil && !forge.IsGone(err) {
			return false, store.Span{}, err
		}
		may = may && err == nil
	}
	if !may {
		return false, store.Span{From: asked, Life: min(a.config.TTL, refusalTTL)}, nil
	}
	return true, store.Span{From: asked, Life: a.config.TTL}, nil
}

var errSpare = errors.New("GitHub's hourly rate limit is nearly used up; what is left is for the checks")

// spare keeps pages from using up what the checks of an installation need.
func (a *Access) spare(installation int64) error {
	if b, known := a.config.Hub.Budget(installation); known && b.Remaining*reserve < b.Limit {
		return fmt.Errorf("installation %d: %w", installation, errSpare)
	}
	return nil
}
