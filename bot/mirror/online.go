package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/remote"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
)

// request is what is fetched at once: references, or objects.
type request struct {
	specs []string // refspecs
	ids   []string // of objects

	filter string // of a partial mirror; empty: smallFiles
}

// online fetches. After a failure, it asks the server for the reason: the repository was renamed (then it tries again),
// is gone, or the server has a problem.
func (s *session) online(ctx context.Context, r request) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	err := s.download(ctx, r)
	if !forge.Is[*Failed](err) {
		return err
	}
	moved, probeErr := s.probe(ctx)
	if probeErr != nil {
		return probeErr
	}
	if moved {
		return s.download(ctx, r)
	}
	if s.partial && !s.made && len(r.ids) == 0 {
		// The server may have sent a file as a difference from a larger one, which it assumes to be in the mirror.
		r.filter = noFiles
		return s.download(ctx, r)
	}
	return err
}

// connect requests address and token, once for each session.
func (s *session) connect(ctx context.Context) error {
	if s.address != "" {
		return nil
	}
	address := s.m.config.Client.CloneURL(s.repo)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("the address of %s is not an http or https URL without credentials", s.repo)
	}
	token, err := s.m.config.Client.GitToken(ctx, s.repo)
	if err != nil {
		return err
	}
	if token == "" {
		return fmt.Errorf("there is no token to read %s", s.repo)
	}
	s.address, s.server, s.token = address, u.Scheme+"://"+u.Host, token
	return nil
}

func (s *session) download(ctx context.Context, r request) error {
	from := s.address
	if s.partial {
		from = origin
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--force"}
	if len(r.ids) > 0 {
		args = append(args, "--stdin")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.m.config.Timeout,
		fmt.Errorf("fetching %s took longer than %s", s.repo, s.m.config.Timeout))
	defer cancel()
	c := s.network(slices.Concat(args, []string{"--end-of-options", from}, r.specs))
	c.watch = func() error { return s.withinSize(ctx) }
	if s.partial {
		c.config = []string{"remote." + origin + ".url", s.address, "remote." + origin + ".promisor", "true",
			"remote." + origin + ".partialCloneFilter", cmp.Or(r.filter, smallFiles)}
	}
	if len(r.ids) > 0 {
		c.stdin = strings.Join(r.ids, "\n") + "\n"
		// The mirror announces no commits, since it may have a commit without its files.
		c.config = append(c.config, "fetch.negotiationAlgorithm", "noop", "http.postBuffer", strconv.Itoa(postBuffer))
	}
	_, err := s.m.git.run(ctx, c)
	if err == nil {
		s.room = time.Time{}
		err = s.withinSize(ctx)
	}
	if err != nil {
		return errors.Join(err, s.sweep()) // what is not finished is of no use, and may be large
	}
	return nil
}

// network is a call that may use the network.
func (s *session) network(args []string) call {
	return call{dir: s.dir, args: args, origin: s.server, token: s.token, hide: []string{s.address, s.server}}
}

// roomEvery is the time between calls of makeRoom while a mirror grows, since each measures all mirrors.
const roomEvery = 10 * time.Second

// withinSize returns a *TooLarge if the mirror, unfinished packs included, is over the limit, and makes room for it among
// the others.
func (s *session) withinSize(ctx context.Context) error {
	size := remote.Size(s.dir)
	if size > s.m.config.MaxBytes {
		return &TooLarge{Repo: s.repo.String(), Limit: s.m.config.MaxBytes}
	}
	if s.m.grown(s.dir, size) && time.Since(s.room) > roomEvery {
		s.room = time.Now()
		_ = s.m.makeRoom(ctx) // no reason not to check; Maintain says what keeps it from being done
	}
	return nil
}

// probe asks the server for the repository's refs. It returns true if the repository moved to another address on the
// same server, which it stores.
func (s *session) probe(ctx context.Context) (moved bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return false, fmt.Errorf("the address of %s is not usable", s.repo)
	}
	req.Header.Set("Authorization", "Basic "+basic(s.token))
	req.Header.Set("User-Agent", "git/lintel")
	req.Header.Set("Git-Protocol", "version=2")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false, fmt.Errorf("reaching the git server of %s: %w", s.repo, err)
	}
	resp.Body.Close()
	if wait, why, ok := github.WaitOf(resp, time.Now()); ok {
		return false, &forge.RetryLater{After: wait, Reason: why}
	}
	switch code := resp.StatusCode; code {
	case http.StatusOK:
		return false, nil
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
		http.StatusUnavailableForLegalReasons:
		return false, &Denied{Repo: s.repo.String(), Status: code}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := resp.Location()
		if err != nil || to.Host != req.URL.Host || to.Scheme != req.URL.Scheme || !strings.HasSuffix(to.Path, "/info/refs") {
			return false, fmt.Errorf("%s redirects to another server; this redirect is not followed", s.repo)
		}
		s.address = (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: strings.TrimSuffix(to.Path, "/info/refs")}).String()
		return true, nil
	default:
		return false, fmt.Errorf("the git server of %s answered %d %s", s.repo, code, http.StatusText(code))
	}
}
