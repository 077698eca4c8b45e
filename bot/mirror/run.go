package mirror

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// runner starts git.
type runner struct {
	path string // absolute
	home string // what git may take for a home directory; nothing is kept there
}

// call is one run of git.
type call struct {
	dir    string // git directory
	args   []string
	stdin  string
	max    int64    // bytes of output that are accepted; 0: 1 MB
	config []string // "key", "value", ... handed over in the environment

	origin, token string       // set: this call may use the network, with this token, at this server only
	hide          []string     // further texts to keep out of errors
	watch         func() error // called now and then while git runs; an error stops it
}

// base is the configuration of every call: nothing of this machine's or of the repository's own may run or
// be followed. protocol.allow is opened for HTTP only with a token.
var base = []string{
	"core.hooksPath", "/dev/null",
	"core.fsmonitor", "false",
	"core.askPass", "",
	"credential.helper", "",
	"protocol.allow", "never",
	"submodule.recurse", "false",
	"fetch.recurseSubmodules", "false",
	"gc.auto", "0",
	"maintenance.auto", "false",
	"advice.detachedHead", "false",
	"safe.directory", "*",
}

// network is the configuration of a call that fetches. Defects that old but honest histories have are
// allowed; everything else that fsck finds (a file called .git, a path that leads out) refuses the fetch.
var network = []string{
	"protocol.http.allow", "always",
	"protocol.https.allow", "always",
	"http.followRedirects", "false",
	"http.lowSpeedLimit", "1000",
	"http.lowSpeedTime", "60",
	"transfer.fsckObjects", "true",
	"fetch.fsckObjects", "true",
	"fetch.fsck.zeroPaddedFilemode", "ignore",
	"fetch.fsck.badTimezone", "ignore",
	"fetch.fsck.badDate", "ignore",
	"fetch.fsck.badDateOverflow", "ignore",
	"fetch.fsck.badEmail", "ignore",
	"fetch.fsck.badName", "ignore",
	"fetch.fsck.missingEmail", "ignore",
	"fetch.fsck.missingNameBeforeEmail", "ignore",
	"fetch.fsck.missingSpaceBeforeDate", "ignore",
	"fetch.fsck.missingSpaceBeforeEmail", "ignore",
	"fetch.fsck.multipleAuthors", "ignore",
	"fetch.fsck.zeroPaddedDate", "ignore",
	"fetch.fsck.badFilemode", "ignore",
	"fetch.unpackLimit", "1",
	"fetch.writeCommitGraph", "false",
	"fetch.showForcedUpdates", "false",
}

// errTooMuch is when git wrote more than a call accepts.
var errTooMuch = errors.New("the output is larger than allowed")

// watchEvery is how often a running fetch is looked at.
const watchEvery = 200 * time.Millisecond

// run runs git and returns what it wrote. The end of ctx kills git with all its children. Errors are
// *Failed, the context's, or that of watch.
func (r runner) run(ctx context.Context, c call) ([]byte, error) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	args := c.args
	if c.dir != "" {
		args = append([]string{"--git-dir=" + c.dir}, args...)
	}
	cmd := exec.CommandContext(ctx, r.path, append([]string{"--literal-pathspecs", "--no-replace-objects",
		"--no-optional-locks"}, args...)...)
	cmd.Env = r.environment(c)
	cmd.Dir = r.home
	if c.stdin != "" {
		cmd.Stdin = strings.NewReader(c.stdin)
	}
	limit := c.max
	if limit == 0 {
		limit = 1 << 20
	}
	stdout, stderr := &capped{left: limit}, &capped{left: 64 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	group(cmd)
	cmd.WaitDelay = 5 * time.Second

	if err := cmd.Start(); err != nil {
		return nil, &Failed{Command: c.args[0], Code: -1, Reason: "git could not be started", Err: pathless(err)}
	}
	finished := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(c, finished, cancel)
	}()
	err := cmd.Wait()
	close(finished)
	<-watched

	if cause := context.Cause(ctx); cause != nil && parent.Err() == nil {
		return nil, cause
	}
	if parent.Err() != nil {
		return nil, fmt.Errorf("git %s: %w", c.args[0], context.Cause(parent))
	}
	if stdout.over {
		return nil, &Failed{Command: c.args[0], Code: -1, Reason: errTooMuch.Error(), Err: errTooMuch}
	}
	if err != nil {
		code := -1
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		return stdout.Bytes(), &Failed{Command: c.args[0], Code: code, Reason: reason(stderr.String(), r.secrets(c))}
	}
	return stdout.Bytes(), nil
}

func (r runner) watch(c call, finished <-chan struct{}, stop context.CancelCauseFunc) {
	if c.watch == nil {
		return
	}
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-finished:
			return
		case <-ticker.C:
			if err := c.watch(); err != nil {
				stop(err)
				return
			}
		}
	}
}

// inherited are the variables that a process with network access keeps, so that proxies and the authorities
// of an Enterprise Server work as they do for the rest of the server.
var inherited = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY",
	"all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}

// environment is all that git sees.
func (r runner) environment(c call) []string {
	env := []string{
		"PATH=" + filepath.Dir(r.path), "HOME=" + r.home, "LC_ALL=C", "LANG=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
	config := append([]string{}, base...)
	if c.token != "" {
		config = append(config, network...)
		for _, name := range inherited {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
		// Limited to the server's address: git sends it to no other.
		config = append(config, "http."+c.origin+"/.extraHeader", "Authorization: Basic "+basic(c.token))
	}
	config = append(config, c.config...)
	for i := 0; i+1 < len(config); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+config[i], "GIT_CONFIG_VALUE_"+n+"="+config[i+1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
}

// basic is the form in which GitHub takes an installation token from git
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation).
func basic(token string) string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
}

func (r runner) secrets(c call) []string {
	var out []string
	if c.token != "" {
		out = append(out, basic(c.token), c.token)
	}
	out = append(out, c.hide...)
	if c.dir != "" {
		out = append(out, c.dir)
	}
	return append(out, r.home, r.path)
}

// capped keeps output up to a limit. Beyond it, it fails the process or drops the rest.
type capped struct {
	bytes.Buffer
	left int64
	drop bool
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.Buffer.Write(p)
	}
	if c.drop {
		c.Buffer.Write(p[:c.left])
		c.left = 0
		return len(p), nil
	}
	c.over = true
	return 0, errTooMuch
}
