package fetch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

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
		s.env, s.options = f.userEnvironment(ctx), userOptions()
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

// userOptions returns the careful options as arguments, since the user's environment may configure git itself.
func userOptions() (options []string) {
	for i := 0; i+1 < len(carefulOptions); i += 2 {
		options = append(options, "-c", carefulOptions[i]+"="+carefulOptions[i+1])
	}
	return options
}

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
