package worker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/forgetest"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// commitsHub is a GitHub with one pull request whose commits are given.
type commitsHub struct {
	*forgetest.GitHub
	commits map[string][]string
	err     error
}

func (h commitsHub) Commits(context.Context, forge.Repo, int) (map[string][]string, error) {
	return h.commits, h.err
}

// ownCommits is a git in which these commits are not part of the base branch.
type ownCommits struct {
	*fakeGit
	own []string
}

func (g ownCommits) Commits(context.Context, string, string, string) ([]string, error) {
	return g.own, nil
}

func TestPeople(t *testing.T) {
	for name, tt := range map[string]struct {
		author  string
		commits map[string][]string // as GitHub lists them
		own     []string            // as git does; nil: the same
		pushers []string
		err     error
		want    []string
		unknown bool
	}{
		"alone": {author: "Olga", commits: map[string][]string{"1": {"olga", "olga"}, "2": {"OLGA"}}, pushers: []string{"olga"},
			want: []string{"olga"}},
		"a bot alone": {author: "renovate[bot]", commits: map[string][]string{"1": {"renovate[bot]"}}, pushers: []string{"renovate[bot]"},
			want: []string{"renovate[bot]"}},
		"somebody else pushed what names the author": {author: "olga", commits: map[string][]string{"1": {"olga"}},
			pushers: []string{"alice", "olga"}, want: []string{"alice", "olga"}},
		"somebody else committed": {author: "olga", commits: map[string][]string{"1": {"olga"}, "2": {"alice"}}, want: []string{"alice", "olga"}},
		"somebody else's branch":  {author: "olga", commits: map[string][]string{"1": {"alice"}}, want: []string{"alice", "olga"}},
		"somebody without an account": {author: "olga", commits: map[string][]string{"1": {"olga"}, "2": nil}, want: []string{"olga"},
			unknown: true},
		"a deleted account": {commits: map[string][]string{"1": {"olga"}}, want: []string{"olga"}, unknown: true},
		"commits of the base branch": {author: "olga", commits: map[string][]string{"1": {"olga"}, "merge": {"olga"}, "based": {"bob"}},
			own: []string{"1", "merge"}, want: []string{"olga"}},
		"a commit that GitHub does not list": {author: "olga", commits: map[string][]string{"1": {"olga"}}, own: []string{"1", "2"},
			want: []string{"olga"}, unknown: true},
		"more pushers than are kept": {author: "olga", commits: map[string][]string{"1": {"olga"}}, pushers: []string{store.Everybody},
			want: []string{store.Everybody, "olga"}, unknown: true},
		"more commits than can be listed": {author: "olga", err: &forge.TooMany{}, own: []string{"1"},
			want: []string{store.Everybody, "olga"}, unknown: true},
		"pushed before it was opened": {author: "olga", commits: map[string][]string{"planted": {"olga"}}, want: []string{"mallory", "olga"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.own == nil {
				tt.own = slices.Sorted(maps.Keys(tt.commits))
			}
			log := pushLog{1: append([]string{}, tt.pushers...)}
			c, state := decider(commitsHub{&forgetest.GitHub{}, tt.commits, tt.err}, ownCommits{&fakeGit{}, tt.own}, nil, log, "base")
			p, err := c.peopleOf(t.Context(), state, &forge.PullRequest{Number: 1, Author: tt.author, HeadSHA: "1"})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(p.Logins)
			if !slices.Equal(p.Logins, tt.want) || p.Unknown != tt.unknown {
				t.Errorf("%+v, want %q, unknown %v", p, tt.want, tt.unknown)
			}
			if alone := !tt.unknown && len(tt.want) == 1; p.Alone(tt.author) != alone || p.Alone("alice") {
				t.Errorf("alone: %v, want %v", !alone, alone)
			}
			if !p.Has(strings.ToUpper(tt.want[0])) {
				t.Error("whoever took part did not")
			}
		})
	}
}

// Rules that look at the user see the author only where nobody else took part. GitHub is not asked for other rules.
func TestIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		committer string
		asks      bool
		want      string
		note      bool
	}{
		"no rule looks at the user": {committer: "alice"},
		"the author alone":          {asks: true, committer: "octocat", want: "octocat"},
		"somebody else, too":        {asks: true, committer: "alice", note: true},
		"somebody unknown, too":     {asks: true, note: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.hub.Committers, b.mirror.commits = []string{tt.committer}, []string{headA}
			if tt.asks {
				b.asksUser()
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			last, run := b.sandbox.changes[len(b.sandbox.changes)-1], b.last(t)
			if last.User.Login != tt.want || last.User.Unasked == tt.asks || run.Conclusion != string(report.Success) {
				t.Errorf("%+v, %s", last.User, run.Conclusion)
			}
			if got := strings.Contains(run.Summary, "see a user without a name"); got != tt.note {
				t.Errorf("it is said: %v\n%s", got, run.Summary)
			}
			if asked := b.hub.Calls("Commits") > 0; asked != tt.asks {
				t.Errorf("GitHub was asked who took part: %v", asked)
			}
		})
	}
}

// What the change alone names is read only if all its people may read it, in every pull request of a merge group.
func TestAuthorsAreAllPeople(t *testing.T) {
	for name, tt := range map[string]struct {
		committer string
		want      []string
	}{
		"the author":       {"octocat", []string{"octocat"}},
		"others":           {"alice", []string{"alice", "octocat"}},
		"somebody unknown": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.hub.Committers, b.mirror.commits = []string{tt.committer}, []string{headA}
			c := b.check(b.task, b.Log)
			c.pr = b.pr
			group := b.check(b.task, b.Log)
			group.reviewedPulls = func(context.Context, mirror.State) ([]*forge.PullRequest, error) {
				return []*forge.PullRequest{b.pr}, nil
			}
			for _, c := range []*check{c, group} {
				if got, err := c.authors(t.Context(), mirror.State{}); err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), tt.want) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}
