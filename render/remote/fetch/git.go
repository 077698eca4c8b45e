package fetch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// gitSource is one repository.
type gitSource struct {
	URL           *url.URL // canonical
	Raw           string   // the address as it was written, for git with the user's configuration; empty: use URL
	Authorization string   // the header, empty: none
	// Unsure means that a "not found" may only mean that others can read the repository: the address was meant to be
	// read with a key.
	Unsure bool
}

// gitCommit is the commit that a reference points to.
type gitCommit struct {
	ID  string
	Ref string // its full name, "HEAD" for the default branch
	Tag bool
	// Hosts are further addresses that redirects led to.
	Hosts []string
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// isCommit reports whether a reference is a full commit id, which always means the same commit.
func isCommit(ref string) bool { return commitID.MatchString(ref) }

// resolve asks the server which commit a reference means now. The reference is "" for the default branch, a tag or else
// a branch of that name, or a range of versions for the newest tag in it.
func (f *Fetcher) resolve(ctx context.Context, src gitSource, ref string) (gitCommit, error) {
	versions, whole := strings.CutPrefix(ref, remote.Versions)
	versions, short := strings.CutPrefix(versions, remote.ShortVersions)
	ranged := whole || short
	if ref != "" && !ranged && !gitcmd.IsRefName(ref) {
		return gitCommit{}, broken("the revision is not valid: write a branch, a tag or a commit")
	}
	names := []string{"HEAD"}
	switch {
	case ranged:
		names = nil
	case strings.HasPrefix(ref, "refs/"):
		names = []string{ref}
	case ref != "" && ref != "HEAD":
		names = []string{"refs/tags/" + ref, "refs/heads/" + ref, "refs/" + ref}
	}
	s, err := f.session(ctx, src)
	if err != nil {
		return gitCommit{}, err
	}
	defer s.close()
	args := []string{"ls-remote", "--quiet", "--end-of-options", s.address}
	if ranged {
		args = append(args, "refs/tags/*")
	}
	for _, n := range names {
		args = append(args, n, n+"^{}")
	}
	out, err := s.run(ctx, args...)
	if err != nil {
		return gitCommit{}, gitFailure(err, "git could not read the references of the repository")
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && isCommit(id) {
			there[name] = id
		}
	}
	if ranged {
		var tags []string
		for _, name := range slices.Sorted(maps.Keys(there)) {
			if tag := strings.TrimPrefix(name, "refs/tags/"); !strings.HasSuffix(tag, "^{}") {
				tags = append(tags, tag)
			}
		}
		tag, err := newestTag(tags, versions, short)
		if err != nil {
			return gitCommit{}, err
		}
		names = []string{"refs/tags/" + tag}
	}
	for _, n := range names {
		if id := cmp.Or(there[n+"^{}"], there[n]); id != "" {
			return gitCommit{ID: id, Ref: n, Tag: strings.HasPrefix(n, "refs/tags/"), Hosts: s.hosts()}, nil
		}
	}
	if ref == "" {
		return gitCommit{}, broken("the repository has no default branch")
	}
	return gitCommit{}, broken("the repository has no branch or tag of that name")
}

// fetchCommit fetches the tree of a commit into the store, which keeps it under key. Submodules are left out.
func (f *Fetcher) fetchCommit(ctx context.Context, src gitSource, at gitCommit, key string) (n remote.Note, err error) {
	s, err := f.session(ctx, src)
	if err != nil {
		return n, err
	}
	defer s.close()
	if err := s.fetch(ctx, at); err != nil {
		return n, err
	}
	out, err := localGit(ctx, s.scratch, "rev-parse", "--verify", "--quiet", "--end-of-options", at.ID+"^{commit}^{tree}")
	if err != nil {
		return n, gitFailure(err, "what the repository has there is not a commit")
	}
	n = remote.Note{Tree: strings.TrimSpace(string(out)), Revision: at.ID, Bytes: s.scratch.Size(), Hosts: s.hosts()}
	return n, s.scratch.Import(ctx, key, n.Tree)
}

// fetch fetches one commit. It tries its id, then the reference that it was found by, then everything the server has,
// since not every server gives out any commit by its id.
func (s *gitSession) fetch(ctx context.Context, at gitCommit) error {
	tries := [][]string{{"--depth=1", "--", at.ID + ":refs/heads/wanted"}}
	if at.Ref != "" {
		tries = append(tries, []string{"--depth=1", "--", "+" + at.Ref + ":refs/heads/wanted"})
	}
	for _, t := range tries {
		if there, err := s.try(ctx, at, t...); there || err != nil {
			return err
		}
	}
	// A fetch without files is cheap, even if the commit turns out not to exist.
	probe := *s
	var err error
	if probe.scratch, err = s.fetcher.store.Scratch(); err != nil {
		return err
	}
	defer probe.scratch.Close()
	switch there, err := probe.try(ctx, at, "--filter=tree:0", "--", everyHead, everyTag); {
	case err != nil:
		return err
	case !there:
		return probe.whyNot(ctx)
	}
	there, err := s.try(ctx, at, "--", everyHead, everyTag)
	if err == nil && !there {
		err = undecided("git rejects the object that this revision names")
	}
	return err
}

const (
	everyHead = "+refs/heads/*:refs/all/heads/*"
	everyTag  = "+refs/tags/*:refs/all/tags/*"
)

// try runs one fetch and reports whether the commit is there afterwards. Arguments before "--" are options.
func (s *gitSession) try(ctx context.Context, at gitCommit, what ...string) (bool, error) {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--force"}
	split := slices.Index(what, "--")
	args = append(append(args, what[:split]...), "--end-of-options", s.address)
	_, err := s.run(ctx, append(args, what[split+1:]...)...)
	if err != nil && !errors.Is(err, errRefused) {
		return false, err
	}
	_, err = localGit(ctx, s.scratch, "cat-file", "-e", at.ID+"^{commit}")
	if errors.Is(err, errRefused) {
		return false, nil
	}
	return err == nil, err
}

// whyNot decides whether a commit is missing or the repository cannot be read: it can be if some references were
// fetched.
func (s *gitSession) whyNot(ctx context.Context) error {
	theirs, err := s.run(ctx, "ls-remote", "--quiet", "--refs", "--heads", "--end-of-options", s.address)
	if err != nil {
		return gitFailure(err, "git could not read the repository")
	}
	for line := range strings.Lines(string(theirs)) {
		id, _, _ := strings.Cut(line, "\t")
		if _, err := localGit(ctx, s.scratch, "cat-file", "-e", id+"^{commit}"); err != nil {
			return gitFailure(err, "git does not accept what the repository has")
		}
	}
	return broken("the repository has no such commit")
}

// localGit runs git without the network.
func localGit(ctx context.Context, s *remote.Scratch, args ...string) ([]byte, error) {
	out, err := s.Run(ctx, gitcmd.Call{Args: args, Max: 256 << 20})
	return out, refusal(err)
}

// gitSession is one run of git commands on one repository.
type gitSession struct {
	fetcher *Fetcher
	scratch *remote.Scratch
	gateway *gitGateway // nil: git connects by itself
	address string
	env     []string
	options []string
}

func (f *Fetcher) session(ctx context.Context, src gitSource) (*gitSession, error) {
	scratch, err := f.store.Scratch()
	if err != nil {
		return nil, err
	}
	s := &gitSession{fetcher: f, scratch: scratch}
	if f.o.UserGit {
		s.address = cmp.Or(src.Raw, src.URL.String())
		s.env = f.userEnvironment(ctx)
		for pair := range slices.Chunk(carefulOptions, 2) { // as arguments, since the user's environment may configure git itself
			s.options = append(s.options, "-c", pair[0]+"="+pair[1])
		}
		return s, nil
	}
	if s.gateway, err = f.openGateway(ctx, src); err != nil {
		scratch.Close()
		return nil, err
	}
	s.address = s.gateway.address()
	s.env = f.store.Isolated(slices.Concat(carefulOptions, s.gateway.config())...)
	return s, nil
}

func (s *gitSession) close() {
	if s.gateway != nil {
		s.gateway.close()
	}
	s.scratch.Close()
}

// hosts returns further addresses that redirects led to. They are unknown if git connects by itself.
func (s *gitSession) hosts() []string {
	if s.gateway == nil {
		return nil
	}
	return s.gateway.trip.Hosts()
}

// carefulOptions is the configuration of git whenever it uses the network.
var carefulOptions = append(gitcmd.Careful(), "fetch.recurseSubmodules", "false", "gc.auto", "0", "maintenance.auto", "false",
	"core.hooksPath", os.DevNull, "protocol.ext.allow", "never")

// gitErrorLines are environment variables that say which repository git works on. They are set if a git hook runs this
// program.
var gitErrorLines = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_SHALLOW_FILE",
	"GIT_SSH_COMMAND", "GIT_TERMINAL_PROMPT", "LC_ALL"}

// userEnvironment returns the environment of this process, changed so that git asks for no passwords.
func (f *Fetcher) userEnvironment(ctx context.Context) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(gitErrorLines, name)
	})
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C",
		"GIT_LFS_SKIP_SMUDGE=1")
	ssh := os.Getenv("GIT_SSH_COMMAND")
	if ssh == "" && os.Getenv("GIT_SSH") == "" {
		out, err := gitcmd.Call{Git: f.store.Git(), Args: []string{"config", "--get", "core.sshCommand"}, Env: env}.Run(ctx)
		if ssh = strings.TrimSpace(string(out)); err != nil || ssh == "" {
			ssh = "ssh"
		}
	}
	if ssh != "" {
		env = append(env, "GIT_SSH_COMMAND="+ssh+" -o BatchMode=yes")
	}
	return env
}

// run runs git with the network. If the server reported a failure, it returns that one.
func (s *gitSession) run(ctx context.Context, args ...string) ([]byte, error) {
	out, err := s.scratch.Run(ctx, gitcmd.Call{Options: s.options, Args: args, Env: s.env, Max: 64 << 20, Watch: s.small})
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.gateway != nil && s.gateway.err() != nil:
		return nil, s.gateway.err()
	}
	return nil, refusal(err)
}

func (s *gitSession) small() error {
	if limit := s.fetcher.o.MaxGit; s.scratch.Size() > limit {
		return undecided("the repository is larger than %d MiB", limit>>20)
	}
	return nil
}

// errRefused means that git failed although the server answered.
var errRefused = errors.New("git could not fetch it")

// refusal returns errRefused if git ran and failed, otherwise the error itself.
func refusal(err error) error {
	if failed, ok := errors.AsType[*gitcmd.Error](err); ok && failed.Err == nil {
		return errRefused
	}
	return err
}

// gitFailure turns a failed run of git into a failure.
func gitFailure(err error, message string) error {
	if errors.Is(err, errRefused) {
		return undecided("%s", message)
	}
	return err
}
