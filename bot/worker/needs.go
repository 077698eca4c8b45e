package worker

import (
	"context"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// Pace keeps below GitHub's limits; *github.Client does.
type Pace interface {
	// lets a job in until done, whose requests have the context that is returned; else *forge.RetryLater
	Admit(ctx context.Context, installation int64, background bool) (_ context.Context, done func(), err error)
}

// Sandbox inspects and checks changes; *sandbox.Sandbox is one. *sandbox.Crash and *sandbox.Failed are final, other
// errors may pass.
type Sandbox interface {
	Inspect(ctx context.Context, change report.Change) (*report.Inspection, error)
	Run(ctx context.Context, change report.Change) (*report.Report, error)
}

// Mirror brings the commits of a pull request onto this machine; mirror.Mirrors is one. *mirror.Vanished
// says that GitHub no longer has a commit.
type Mirror interface {
	Fetch(ctx context.Context, repo forge.Repo, want mirror.Want) (mirror.State, error)
	Changed(ctx context.Context, gitDir, old, now string) ([]string, error)
	Commits(ctx context.Context, gitDir, old, now string) ([]string, error)
}

// ReviewFinder finds the reviews of a pull request that bear on the exceptions that wait for approval;
// *Approvals is one.
type ReviewFinder interface {
	Decide(ctx context.Context, repo forge.Repo, pr *forge.PullRequest, gitDir, rulesCommit string,
		in *report.Inspection) ([]report.Review, error)
}

// Dependents remembers which repositories take rules from others; store.Queue is one.
type Dependents interface {
	AddDependent(ctx context.Context, installation, from int64, u store.Dependent) error
	Dependents(ctx context.Context, installation, from int64) ([]store.Dependent, error)
}

// Previews remembers what pull requests would change in the repositories that take their rules; store.Queue is one.
type Previews interface {
	PutPreview(ctx context.Context, key store.Key, user int64, o store.Preview) error
	Previews(ctx context.Context, key store.Key, of string) (map[int64]store.Preview, error)
}

// Ledger is what the queue remembers about a job; store.Job is one.
type Ledger interface {
	Superseded(ctx context.Context) (bool, error)
	Note(ctx context.Context) (string, error)
	SetNote(ctx context.Context, text string) error
	Mark(ctx context.Context) (string, error)
	SetMark(ctx context.Context, text string) error
	// calls do while nobody else is alone with the key
	Exclusively(ctx context.Context, key store.Key, do func(ctx context.Context) error) error
}

// Results keeps results and knows their pages; *results.Recorder is one.
type Results interface {
	// stores a result and returns the address of its page; "": it has none, and is not stored
	Record(ctx context.Context, r *results.Stored) (address string, err error)
	Published(ctx context.Context, r *results.Stored, checkRun int64) error
	// returns the address of the page of a repository; "": it has none
	Overview(r forge.Repository) string
}

// Publisher stores a job; store.Queue is one.
type Publisher interface {
	Publish(ctx context.Context, key store.Key, m store.Message, id string) error
}
