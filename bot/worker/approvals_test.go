package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/forgetest"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
)

// fakeGit has files by commit and path; the content is the object id.
type fakeGit struct {
	Mirror
	commits map[string]map[string]string
	remote  map[string]map[string]string // what Ensure can get
}

func (g *fakeGit) BlobID(_ context.Context, _, commit, path string) (string, error) {
	files, ok := g.commits[commit]
	if !ok {
		return "", &mirror.Vanished{SHA: commit}
	}
	if id, ok := files[path]; ok {
		return id, nil
	}
	return "", &mirror.NoFile{Commit: commit, Path: path}
}
func (g *fakeGit) Blob(ctx context.Context, dir, commit, path string) ([]byte, string, error) {
	id, err := g.BlobID(ctx, dir, commit, path)
	return []byte(id), id, err
}
func (g *fakeGit) Ensure(_ context.Context, _ forge.Repo, sha string) error {
	files, ok := g.remote[sha]
	if !ok {
		return &mirror.Vanished{SHA: sha}
	}
	g.commits[sha] = files
	return nil
}

// Commits are the head alone.
func (g *fakeGit) Commits(_ context.Context, _, _, now string) ([]string, error) {
	if _, ok := g.commits[now]; !ok && now != "" {
		return nil, &mirror.Vanished{SHA: now}
	}
	return []string{now}, nil
}

func (g *fakeGit) Fetch(_ context.Context, _ forge.Repo, want mirror.Want) (mirror.State, error) {
	if g.commits[want.HeadSHA] == nil {
		return mirror.State{}, &mirror.Vanished{SHA: want.HeadSHA}
	}
	return mirror.State{BaseTip: want.BaseSHA}, nil
}

// terms are those of the only exception of each commit, and of the object that all commits remove; "" for nothing that waits.
type terms map[string]string

func (in terms) Inspect(_ context.Context, c report.Change) (*report.Inspection, error) {
	if in[c.Head] == "crash" {
		return nil, &sandbox.Crash{Reason: "used up its processor time"}
	}
	return &report.Inspection{Exceptions: in.list(c)}, nil
}

func (in terms) Run(_ context.Context, c report.Change) (*report.Report, error) {
	return &report.Report{Exceptions: append(in.list(c), report.Exception{Terms: []string{"removed"}})}, nil
}

func (in terms) list(c report.Change) (list []report.Exception) {
	if in[c.Head] != "" {
		list = append(list, report.Exception{Terms: []string{in[c.Head]}})
	}
	return list
}

// decider returns a check of a pull request by a worker with these, and what it fetched: the tip of the base branch is base.
func decider(hub forge.Client, git Mirror, at terms, pushes pushLog, base string) (*check, mirror.State) {
	w := &Worker{Client: hub, Mirror: git, Sandbox: at, Jobs: &publisher{pushLog: pushes}, Now: time.Now, Metrics: NewMetrics(nil, nil), Fitness: &Fitness{}}
	return &check{headRun: &headRun{Worker: w, head: "now"}}, mirror.State{BaseTip: base}
}

const exceptionPath = "exceptions/a.yaml"

func TestApprovals(t *testing.T) {
	approve := func(user, commit string) forge.Review {
		return forge.Review{User: user, State: "APPROVED", CommitSHA: commit}
	}
	state := func(user, state string) forge.Review {
		return forge.Review{User: user, State: state, CommitSHA: "now"}
	}
	defaults := report.Approvers{CodeOwners: true, Count: 1}
	for _, tt := range []struct {
		name    string
		reviews []forge.Review
		rules   report.Approvers
		owners  string
		by      []string // nil: not approved
		why     string   // of the first approval that does not count
		refused bool
	}{
		{name: "someone with write access", reviews: []forge.Review{approve("wendy", "now")}, rules: defaults,
			by: []string{"wendy"}},
		{name: "admin", reviews: []forge.Review{approve("adam", "now")}, rules: defaults, by: []string{"adam"}},
		{name: "settings that cannot be read", reviews: []forge.Review{approve("adam", "now")}, rules: report.Approvers{Nobody: true},
			why: "not among those who may approve"},
		{name: "read access only", reviews: []forge.Review{approve("rita", "now")}, rules: defaults,
			why: "not among those who may approve"},
		{name: "author", reviews: []forge.Review{approve("Author", "now")}, rules: defaults,
			why: "the author cannot approve"},
		{name: "pusher", reviews: []forge.Review{approve("pusher", "now")}, rules: defaults,
			why: "somebody who pushed to the pull request cannot approve"},
		{name: "pusher under another name", reviews: []forge.Review{approve("Mallory", "now")}, rules: defaults,
			why: "somebody who pushed to the pull request cannot approve"},
		{name: "author named in the settings", reviews: []forge.Review{approve("author", "now")},
			rules: report.Approvers{Users: []string{"author"}}, why: "the author cannot approve"},
		{name: "older commit, same content", reviews: []forge.Review{approve("wendy", "same")}, rules: defaults,
			by: []string{"wendy"}},
		{name: "changed since", reviews: []forge.Review{approve("wendy", "before")}, rules: defaults,
			why: "the file changed after the review"},
		{name: "not there yet", reviews: []forge.Review{approve("wendy", "without")}, rules: defaults,
			why: "the file was not in the reviewed commit"},
		{name: "pushed over, still on GitHub", reviews: []forge.Review{approve("wendy", "remote")}, rules: defaults,
			by: []string{"wendy"}},
		{name: "pushed over and gone", reviews: []forge.Review{approve("wendy", "nowhere")}, rules: defaults,
			why: "the reviewed commit is no longer on GitHub"},
		{name: "then comments", reviews: []forge.Review{approve("wendy", "now"), state("wendy", "COMMENTED"),
			state("wendy", "PENDING")}, rules: defaults, by: []string{"wendy"}},
		{name: "then requests changes", reviews: []forge.Review{approve("wendy", "now"),
			state("wendy", "CHANGES_REQUESTED")}, rules: defaults, refused: true},
		{name: "one approves, another requests changes", reviews: []forge.Review{approve("wendy", "now"),
			state("adam", "CHANGES_REQUESTED")}, rules: defaults, refused: true},
		{name: "someone without a say requests changes", reviews: []forge.Review{approve("wendy", "now"),
			state("rita", "CHANGES_REQUESTED")}, rules: defaults, by: []string{"wendy"}},
		{name: "changes were requested and made", reviews: []forge.Review{
			{User: "adam", State: "CHANGES_REQUESTED", CommitSHA: "before"}, approve("wendy", "now")}, rules: defaults,
			by: []string{"wendy"}},
		{name: "changes of a lost commit were requested", reviews: []forge.Review{
			{User: "adam", State: "CHANGES_REQUESTED", CommitSHA: "nowhere"}, approve("wendy", "now")}, rules: defaults,
			refused: true},
		{name: "who pushed requests changes", reviews: []forge.Review{state("pusher", "CHANGES_REQUESTED")},
			rules: defaults, refused: true},
		{name: "first requests changes", reviews: []forge.Review{state("wendy", "CHANGES_REQUESTED"),
			approve("wendy", "now")}, rules: defaults, by: []string{"wendy"}},
		{name: "dismissed", reviews: []forge.Review{approve("wendy", "now"), state("Wendy", "DISMISSED")}, rules: defaults},
		{name: "superseded by an approval of other content",
			reviews: []forge.Review{approve("wendy", "now"), approve("wendy", "before")}, rules: defaults,
			why: "the file changed after the review"},
		{name: "deleted account", reviews: []forge.Review{approve("", "now")}, rules: defaults},
		{name: "two needed, one there", reviews: []forge.Review{approve("wendy", "now")}, rules: report.Approvers{Count: 2}},
		{name: "two needed, the same twice", reviews: []forge.Review{approve("wendy", "now"), approve("wendy", "now")},
			rules: report.Approvers{Count: 2}},
		{name: "two needed", reviews: []forge.Review{approve("wendy", "now"), approve("adam", "same")},
			rules: report.Approvers{Count: 2}, by: []string{"wendy", "adam"}},
		{name: "code owner", reviews: []forge.Review{approve("wendy", "now")}, rules: defaults,
			owners: "/exceptions/ @Wendy\n", by: []string{"wendy"}},
		{name: "not the code owner", reviews: []forge.Review{approve("adam", "now")}, rules: defaults,
			owners: "/exceptions/ @wendy\n", why: "not among those who may approve"},
		{name: "code owner without write access", reviews: []forge.Review{approve("rita", "now")}, rules: defaults,
			owners: "* @rita\n", why: "not among those who may approve"},
		{name: "owning team", reviews: []forge.Review{approve("wendy", "now")}, rules: defaults,
			owners: "* @org/security\n", by: []string{"wendy"}},
		{name: "not in the owning team", reviews: []forge.Review{approve("adam", "now")}, rules: defaults,
			owners: "* @org/security\n", why: "not among those who may approve"},
		{name: "owner by address only", reviews: []forge.Review{approve("wendy", "now")}, rules: defaults,
			owners: "* w@example.com\n", why: "not among those who may approve"},
		{name: "last rule has no owner", reviews: []forge.Review{approve("adam", "now")}, rules: defaults,
			owners: "* @wendy\n/exceptions/\n", by: []string{"adam"}},
		{name: "code owners off", reviews: []forge.Review{approve("adam", "now")}, rules: report.Approvers{},
			owners: "* @wendy\n", by: []string{"adam"}},
		{name: "user of the settings", reviews: []forge.Review{approve("rita", "now")},
			rules: report.Approvers{Users: []string{"Rita"}, CodeOwners: true}, owners: "* @wendy\n", by: []string{"rita"}},
		{name: "team of the settings", reviews: []forge.Review{approve("wendy", "now")},
			rules: report.Approvers{Teams: []string{"org/security"}}, by: []string{"wendy"}},
		{name: "write access does not do where a team is named", reviews: []forge.Review{approve("adam", "now")},
			rules: report.Approvers{Teams: []string{"org/security"}}, why: "not among those who may approve"},
		{name: "bot", reviews: []forge.Review{approve("robot[bot]", "now")}, rules: defaults,
			why: "not among those who may approve"},
		{name: "bot named in the settings", reviews: []forge.Review{approve("robot[bot]", "now")},
			rules: report.Approvers{Users: []string{"robot[bot]"}}, by: []string{"robot[bot]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hub := &forgetest.GitHub{PullReviews: tt.reviews, Committers: []string{"Pusher"},
				Teams: map[string][]string{"org/security": {"wendy"}},
				Rights: map[string]string{"wendy": "write", "adam": "admin", "rita": "read", "author": "admin", "pusher": "admin",
					"robot[bot]": "write", "Mallory": "admin"}}
			git := &fakeGit{remote: map[string]map[string]string{"remote": {exceptionPath: "new"}},
				commits: map[string]map[string]string{
					"now": {exceptionPath: "new"}, "same": {exceptionPath: "new"}, "before": {exceptionPath: "old"}, "without": {},
					"rules": {}}}
			if tt.owners != "" {
				git.commits["rules"]["CODEOWNERS"] = tt.owners
				git.commits["rules"]["docs/CODEOWNERS"] = "* @nobody\n" // a later place does not count
			}
			inspection := &report.Inspection{Approvers: tt.rules, Exceptions: []report.Exception{
				{Path: exceptionPath, Blob: "new", State: "pending"},
				{Path: exceptionPath, Blob: "new", State: "pending", Line: 9}, {Path: "other", Blob: "x", State: "expired"}}}
			pr := &forge.PullRequest{Number: 1, Author: "author"}
			c, state := decider(hub, git, nil, pushLog{1: {"mallory"}, 2: {"*"}}, "rules")
			reviews, err := c.decide(t.Context(), state, pr, inspection)
			if err != nil || len(reviews) != 1 {
				t.Fatalf("%v, %v", reviews, err)
			}
			got, want := reviews[0], report.Pending
			switch {
			case tt.refused:
				want = report.Refused
			case tt.by != nil:
				want = report.Approved
			}
			if got.State() != want || got.Path != exceptionPath || got.Blob != "new" {
				t.Errorf("%s is %s, want it %s", got.Path, got.State(), want)
			}
			if by := got.By(); want == report.Approved && !slices.Equal(by, tt.by) {
				t.Errorf("approved by %v, want %v", by, tt.by)
			}
			why := ""
			if r := reviews[0].Ignored; len(r) > 0 {
				why = r[0].Why
			}
			if why != tt.why {
				t.Errorf("ignored because %q, want %q", why, tt.why)
			}
		})
	}
}

func TestApprovalsAsksNothingWithoutNeed(t *testing.T) {
	hub := &forgetest.GitHub{}
	c, state := decider(hub, &fakeGit{}, nil, pushLog{0: {}}, "rules")
	got, err := c.decide(t.Context(), state, &forge.PullRequest{}, &report.Inspection{
		Exceptions: []report.Exception{{Path: "a", Blob: "b", State: "approved"}}})
	if err != nil || got != nil || hub.Calls("Reviews") != 0 {
		t.Errorf("%v, %v, %d calls", got, err, hub.Calls("Reviews"))
	}
}

func TestApprovalsTeamErrors(t *testing.T) {
	in := &report.Inspection{Approvers: report.Approvers{Teams: []string{"org/security"}},
		Exceptions: []report.Exception{{Path: "a", Blob: "b", State: "pending"}}}
	git := &fakeGit{commits: map[string]map[string]string{"c": {"a": "b"}}}
	hub := &forgetest.GitHub{PullReviews: []forge.Review{{User: "wendy", State: "APPROVED", CommitSHA: "c"}}}
	trouble := error(&forge.Gone{What: "members"})
	hub.Fail = func(call string, _ any) error {
		if call == "TeamMember" {
			return trouble
		}
		return nil
	}
	c, state := decider(hub, git, nil, pushLog{0: {}}, "c")
	reviews, err := c.decide(t.Context(), state, &forge.PullRequest{}, in)
	got := approved(reviews)
	if err != nil || got != nil {
		t.Errorf("a team that cannot be seen: %v, %v", got, err)
	}
	trouble = errors.New("502")
	if _, err := c.decide(t.Context(), state, &forge.PullRequest{}, in); err == nil {
		t.Error("trouble of GitHub was taken for a decision")
	}
}

// approved lists the users who approved the only exception; nil if it is not approved.
func approved(reviews []report.Review) []string {
	if len(reviews) != 1 || reviews[0].State() != report.Approved {
		return nil
	}
	return reviews[0].By()
}

// pushLog is who pushed, by pull request.
type pushLog map[int][]string

func (l pushLog) Pushers(_ context.Context, _ int64, number int) ([]string, error) {
	if l[number] == nil {
		return nil, errors.New("no answer")
	}
	return l[number], nil
}

// TipPushers knows mallory, who pushed a commit called planted.
func (l pushLog) TipPushers(_ context.Context, _ int64, commits []string) ([]string, error) {
	if slices.Contains(commits, "planted") {
		return []string{"mallory"}, nil
	}
	return nil, nil
}

// Who pushed the content under another name, before the pull request was opened or while it was closed, cannot approve
// it. For a squashed member of a merge group, its head is fetched to find that out.
func TestWhoPushedCommitsCannotApprove(t *testing.T) {
	in := &report.Inspection{Exceptions: []report.Exception{{Path: "a", Blob: "b", State: "pending"}}}
	for head, want := range map[string]int{"planted": 0, "honest": 1} {
		git := &fakeGit{commits: map[string]map[string]string{"rules": {}},
			remote: map[string]map[string]string{head: {"a": "b"}}}
		hub := &forgetest.GitHub{PullReviews: []forge.Review{{User: "Mallory", State: "APPROVED", CommitSHA: head}},
			Rights: map[string]string{"Mallory": "write"}}
		c, state := decider(hub, git, nil, pushLog{1: {}}, "rules")
		reviews, err := c.decide(t.Context(), state, &forge.PullRequest{Number: 1, HeadSHA: head}, in)
		if got := approved(reviews); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v; want %d approvals", head, got, err, want)
		}
	}
	git := &fakeGit{commits: map[string]map[string]string{"rules": {}}}
	hub := &forgetest.GitHub{PullReviews: []forge.Review{{User: "wendy", State: "APPROVED", CommitSHA: "x"}}}
	c, state := decider(hub, git, nil, pushLog{1: {}}, "rules")
	if _, err := c.decide(t.Context(), state, &forge.PullRequest{Number: 1, HeadSHA: "gone"}, in); err == nil {
		t.Error("commits that cannot be had were taken for none")
	}
}

func TestWhoPushedIsUnknown(t *testing.T) {
	in := &report.Inspection{Exceptions: []report.Exception{{Path: "a", Blob: "b", State: "pending"}}}
	git := &fakeGit{commits: map[string]map[string]string{"c": {"a": "b"}}}
	hub := &forgetest.GitHub{PullReviews: []forge.Review{{User: "wendy", State: "APPROVED", CommitSHA: "c"}},
		Rights: map[string]string{"wendy": "write"}}
	c, state := decider(hub, git, nil, pushLog{1: {}, 2: {"*"}}, "c")
	for number, want := range map[int]int{1: 1, 2: 0} {
		reviews, err := c.decide(t.Context(), state, &forge.PullRequest{Number: number}, in)
		got := approved(reviews)
		if err != nil || len(got) != want {
			t.Errorf("pull request %d: %v, %v; want %d approvals", number, got, err, want)
		}
	}
	if _, err := c.decide(t.Context(), state, &forge.PullRequest{Number: 3}, in); err == nil {
		t.Error("a record that cannot be read was taken for an empty one")
	}
}

// An approval is for what an exception comes to, which other files decide, too.
func TestApprovalsAreForTheSameTerms(t *testing.T) {
	for _, c := range []struct {
		name string
		file string // of the reviewed commit
		at   string // its terms there
		want string // why it does not count
	}{
		{"all the same", "new", "narrow", ""},
		{"another file made it broader since", "new", "other", other},
		{"it was not in force", "new", "", other},
		{"the reviewed commit crashed the check, which was mended since", "new", "crash", uncheckable},
		{"the exception changed since", "old", "narrow", "the file changed after the review"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hub := &forgetest.GitHub{Rights: map[string]string{"wendy": "write"},
				PullReviews: []forge.Review{{User: "wendy", State: "APPROVED", CommitSHA: "then"}}}
			git := &fakeGit{commits: map[string]map[string]string{"then": {exceptionPath: c.file}, "rules": {}}}
			in := &report.Inspection{Exceptions: []report.Exception{
				{Path: exceptionPath, Blob: "new", Terms: []string{"narrow"}, State: report.Pending},
				{Path: "removed.yaml", Terms: []string{"removed"}, Object: true, State: report.Pending}}}
			check, state := decider(hub, git, terms{"then": c.at, "now": "narrow"}, pushLog{1: {}}, "rules")
			reviews, err := check.decide(t.Context(), state, &forge.PullRequest{Number: 1, Author: "author"}, in)
			if err != nil || len(reviews) != 2 {
				t.Fatal(reviews, err)
			}
			why := ""
			if list := reviews[0].Ignored; len(list) > 0 {
				why = list[0].Why
			}
			if approved := reviews[0].State() == report.Approved; why != c.want || approved != (c.want == "") {
				t.Errorf("approved %v: %+v", approved, reviews[0])
			}
			if reviews[1].State() != report.Approved {
				t.Errorf("what is looked up and removed: %+v", reviews[1])
			}
			hub.PullReviews[0].State = "CHANGES_REQUESTED" // which counts also where the reviewed effect is not known
			reviews, err = check.decide(t.Context(), state, &forge.PullRequest{Number: 1, Author: "author"}, in)
			if refused := err == nil && reviews[0].State() == report.Refused; refused != (c.want == "" || c.want == uncheckable) {
				t.Errorf("refused %v: %+v, %v", refused, reviews, err)
			}
		})
	}
}
