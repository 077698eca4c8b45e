package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// Memory is the data that the App stores beside its jobs, see Queue.
type Memory struct {
	state      *Bucket // claims and drafts; of jobs: tries, notes, marks and demands
	pushers    *Bucket // who pushed
	dependents *Bucket // who takes rules from whom
	previews   *Bucket // what changes of rules would change there
}

// AskDrafts stores for a week, on disk before it returns, that somebody requested drafts of exceptions for a commit. A
// job is only a key and may be merged with another one, so it cannot carry the request.
func (m *Memory) AskDrafts(ctx context.Context, repository int64, head string) error {
	name, err := draftsName(repository, head)
	if err != nil {
		return err
	}
	return m.state.Put(ctx, name, nil)
}

// DraftsAsked reports whether drafts were requested for a commit.
func (m *Memory) DraftsAsked(ctx context.Context, repository int64, head string) (bool, error) {
	name, err := draftsName(repository, head)
	if err != nil {
		return false, err
	}
	_, revision, err := m.state.Get(ctx, name)
	return revision != 0, err
}

func draftsName(repository int64, head string) (string, error) {
	if !gitcmd.IsObjectID(head) {
		return "", fmt.Errorf("drafts of exceptions: %q is not an object id", head)
	}
	return fmt.Sprintf("drafts.%d.%s", repository, head), nil
}

// Claim reports whether nobody claimed the name within the last week, and claims it. Of several callers,
// in any process, one gets true. A name consists of letters, digits, dots, dashes and underscores.
func (m *Memory) Claim(ctx context.Context, name string) (bool, error) {
	name = "claim." + name
	mine := rand.Text()
	stored, err := m.state.Update(ctx, name, []byte(mine), 0)
	if err == nil && !stored {
		// An earlier attempt may have been stored although its answer was lost.
		var holder []byte
		holder, _, err = m.state.Get(ctx, name)
		stored = string(holder) == mine
	}
	return stored, err
}

// Forget removes a claim.
func (m *Memory) Forget(ctx context.Context, name string) error {
	return m.state.delete(ctx, "claim."+name)
}

const (
	// pusherTTL is how long the pushers of a pull request are stored after the last push.
	pusherTTL = 2 * 365 * 24 * time.Hour
	// maxPushers limits the pushers of one pull request. Above it, everybody counts as a pusher.
	maxPushers = 1000
)

// Everybody in the answer of Pushers means that there are too many pushers to list.
const Everybody = "*"

// Push says who pushed to the head of a pull request, or a commit as the tip of a branch.
type Push struct {
	Repository int64
	Number     int    // of the pull request; zero: it is about a branch
	Commit     string // the tip of the branch
	Login      string
}

// AddPush stores who pushed, on disk before it returns.
func (m *Memory) AddPush(ctx context.Context, p Push) error {
	name, login := pusherName(p.Repository, p.Number), strings.ToLower(p.Login)
	if p.Number == 0 {
		if !gitcmd.IsObjectID(p.Commit) {
			return fmt.Errorf("storing who pushed: %q is not an object id", p.Commit)
		}
		name = tipName(p.Repository, p.Commit)
	}
	return Change(ctx, m.pushers, name, func(data []byte) ([]byte, error) {
		known := decodePushers(data)
		if slices.Contains(known, login) || slices.Contains(known, Everybody) {
			return nil, nil
		}
		if known = append(known, login); len(known) > maxPushers {
			known = []string{Everybody}
		}
		return json.Marshal(known)
	})
}

// Pushers returns the recorded pushers of a pull request's head, in lower case.
func (m *Memory) Pushers(ctx context.Context, repository int64, number int) ([]string, error) {
	return m.readPushers(ctx, pusherName(repository, number))
}

// maxTips limits the commits, since each is a request to the server. Above it, everybody counts as a pusher.
const maxTips = 5000

// TipPushers returns the recorded accounts, in lower case, that pushed one of the commits as the tip of a branch.
func (m *Memory) TipPushers(ctx context.Context, repository int64, commits []string) ([]string, error) {
	if len(commits) > maxTips {
		return []string{Everybody}, nil
	}
	var all []string
	for _, commit := range commits {
		known, err := m.readPushers(ctx, tipName(repository, commit))
		if err != nil {
			return nil, err
		}
		all = append(all, known...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func tipName(repository int64, commit string) string {
	return fmt.Sprintf("%d.tip.%s", repository, commit)
}

// pusherName does not contain the installation, which changes when the App is installed again, so that the records stay
// valid.
func pusherName(repository int64, number int) string { return fmt.Sprintf("%d.%d", repository, number) }

func (m *Memory) readPushers(ctx context.Context, name string) ([]string, error) {
	data, _, err := m.pushers.Get(ctx, name)
	return decodePushers(data), err
}

func decodePushers(data []byte) (known []string) {
	if len(data) > 0 && json.Unmarshal(data, &known) != nil {
		return []string{Everybody} // with a damaged record, everybody counts as a pusher
	}
	return known
}

const (
	// dependentTTL is how long a dependent is stored after its last check that used rules of the other repository.
	dependentTTL = 180 * 24 * time.Hour
	// dependentBytes limits the stored dependents: about a hundred thousand repositories.
	dependentBytes = 32 << 20
	// dependentFresh is the minimum age of an entry before it is written again.
	dependentFresh = 24 * time.Hour
)

// Dependent is a repository that takes rules from another one of its installation.
type Dependent struct {
	ID    int64     `json:"-"`
	Owner string    `json:"owner"`
	Name  string    `json:"name"`
	At    time.Time `json:"at"` // of a check that used the rules; up to a day older than the last one
	// RuleSources are the rules that it takes from the other repository; none if an earlier version stored the entry.
	RuleSources []report.RuleSource `json:"sources,omitempty"`
}

// UsesRulesOf reports whether the dependent may use rules of a branch. refs are the names of the branch in settings.
func (u Dependent) UsesRulesOf(refs []string) bool {
	return len(u.RuleSources) == 0 ||
		slices.ContainsFunc(u.RuleSources, func(s report.RuleSource) bool { return slices.Contains(refs, s.Ref) })
}

// Addresses returns the addresses under which the dependent's settings name the other repository.
func (u Dependent) Addresses() []string {
	return report.Mapped(u.RuleSources, func(s report.RuleSource) string { return s.Name })
}

// AddDependent stores that a repository takes rules from another one.
func (m *Memory) AddDependent(ctx context.Context, installation, from int64, u Dependent) error {
	key := fmt.Sprintf("%d.%d.%d", installation, from, u.ID)
	known, found, err := readRecord[Dependent](ctx, m.dependents, key)
	if err != nil || found && known.Owner == u.Owner && known.Name == u.Name &&
		slices.Equal(known.RuleSources, u.RuleSources) && u.At.Sub(known.At) < dependentFresh {
		return err
	}
	return writeRecord(ctx, m.dependents, key, u)
}

// Dependents returns the repositories that take rules from another one, those checked last first.
func (m *Memory) Dependents(ctx context.Context, installation, from int64) (list []Dependent, err error) {
	all, err := listRecords[Dependent](ctx, m.dependents, fmt.Sprintf("%d.%d.*", installation, from))
	if err != nil {
		return nil, err
	}
	for id, u := range all {
		u.ID = id
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b Dependent) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

const (
	// previewTTL is how long previews are stored.
	previewTTL = 30 * 24 * time.Hour
	// previewBytes limits the stored previews: some ten thousand repositories.
	previewBytes = 64 << 20
)

// Preview is what a pull request would change in a repository that uses its rules.
type Preview struct {
	Of         string                  `json:"of"`    // identifies the other inputs; a preview with other inputs is outdated
	Tries      int                     `json:"tries"` // number of attempts for this repository
	Repository report.DependentPreview `json:"user"`
}

// previewKey returns the key of a preview in a repository; for repository 0, a filter for all.
func previewKey(key Key, user int64) string {
	last := "*"
	if user != 0 {
		last = strconv.FormatInt(user, 10)
	}
	return fmt.Sprintf("%d.%d.%d.%s", key.Installation, key.Repository, key.Preview, last)
}

// PutPreview stores a preview of a key's pull request in a repository.
func (m *Memory) PutPreview(ctx context.Context, key Key, user int64, o Preview) error {
	data, err := json.Marshal(o)
	if err == nil && len(data) > MaxValue {
		o.Repository.Policies, o.Repository.Findings = nil, nil
	}
	return writeRecord(ctx, m.previews, previewKey(key, user), o)
}

// Previews returns the stored previews of a key's pull request whose inputs are of, by repository.
func (m *Memory) Previews(ctx context.Context, key Key, of string) (map[int64]Preview, error) {
	all, err := listRecords[Preview](ctx, m.previews, previewKey(key, 0))
	maps.DeleteFunc(all, func(_ int64, p Preview) bool { return p.Of != of })
	return all, err
}
