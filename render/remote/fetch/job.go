package fetch

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// job is a want that may be asked for.
type job struct {
	want  remote.Want
	url   *url.URL // canonical, as an allow-list sees it
	key   string   // of its note
	scope string   // of what a token read; empty: anybody could
	token string
	ssh   bool // the asker has it by ssh

	fixed bool // it stands for the same content for ever
	exact bool // it should: an exact version
}

// good reports whether what was said some time ago need not be asked again.
func (j job) good(age time.Duration, o Options) bool {
	switch {
	case j.fixed:
		return true
	case j.exact:
		return o.Recheck == 0 || age < o.Recheck
	}
	return age < o.Fresh
}

// schemes are those that a kind of want may have.
var schemes = map[remote.Kind][]string{
	remote.Git:   {"https", "http", "ssh"},
	remote.Chart: {"https", "http", "oci"},
	remote.File:  {"https", "http"},
}

// job looks at a want before anything is done about it: may it be asked for at all?
func (f *Fetcher) job(ctx context.Context, w remote.Want) (job, error) {
	u, err := remote.Address(w.URL)
	if err != nil {
		return job{}, undecided("%v", err)
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	plainName := w.Name == path.Base(w.Name) && w.Name != "." && w.Name != ".."
	if u.Scheme == "oci" && w.Name != "" && plainName {
		u.Path += "/" + w.Name
	}
	j := job{want: w, url: u}
	switch {
	case !slices.Contains(schemes[w.Kind], u.Scheme):
		return job{}, undecided("addresses that begin with %s:// are not fetched for this", u.Scheme)
	case u.Scheme == "http" && !f.o.Policy.PlainHTTP(u):
		return job{}, undecided("plain http is not allowed: use https, or have the operator list the address under plainHTTP")
	case !f.o.Policy.Allows(u):
		return job{}, denied("it is not in the list of allowed sources")
	case w.Kind == remote.Chart && !plainName && (w.Name != "" || u.Scheme != "oci"):
		return job{}, broken("%s cannot be the name of a chart", quote(w.Name))
	case strings.ContainsFunc(w.Ref, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(w.Ref) > 1024 ||
		len(w.Filter) > 1024:
		return job{}, broken("the version or revision is not valid: write a version, a branch, a tag or a commit")
	}
	switch w.Kind {
	case remote.Git:
		return f.gitJob(ctx, j)
	case remote.Chart:
		_, digest := pinned(w.Ref)
		j.fixed, j.exact = digest != "", exactVersion(w.Ref)
	}
	j.key = remote.Key("want", string(w.Kind), u.String(), w.Name, w.Ref, fmt.Sprint(w.Tag), w.Filter)
	return j, nil
}

// gitJob adds what a repository is read with.
func (f *Fetcher) gitJob(ctx context.Context, j job) (job, error) {
	if j.url.Scheme == "ssh" && !f.o.UserGit {
		j.url, j.ssh = remote.HTTPS(j.url), true // there is no key to show; the same repository is there by https
	}
	if f.o.Token != nil {
		token, err := f.o.Token(ctx, j.url.String())
		if err != nil {
			return job{}, err
		}
		if token != "" {
			j.token, j.scope = token, f.o.Scope
			if err := f.mayRead(ctx, j.url.String()); err != nil {
				return job{}, err
			}
		}
	}
	j.fixed = isCommit(j.want.Ref)
	// A submodule may be one that only a token can read.
	scope := j.scope
	if j.want.Submodules {
		scope = f.o.Scope
	}
	j.key = remote.Key("want", "git", j.url.String(), j.want.Ref, fmt.Sprint(j.want.Submodules, j.token != "", j.ssh),
		scope)
	return j, nil
}

func (f *Fetcher) mayRead(ctx context.Context, address string) error {
	if f.o.MayRead == nil {
		return nil
	}
	may, err := f.o.MayRead(ctx, address)
	if err == nil && !may {
		err = denied("it is a private repository that the author of this change may not read")
	}
	return err
}

// mayUse reports whether what the store has may be used now: it can have come from further addresses, some of which
// this policy does not have, and from further repositories that only a token could read.
func (f *Fetcher) mayUse(ctx context.Context, n remote.Note) error {
	for _, host := range n.Hosts {
		if u, err := remote.Address(host); err != nil || !f.o.Policy.Allows(u) {
			return denied("it comes from another host, which is not in the list of allowed sources")
		}
	}
	for _, repository := range n.Private {
		if err := f.mayRead(ctx, repository); err != nil {
			return err
		}
	}
	return nil
}

// onlyKnown reports whether a fork asks for what only the store may answer.
func (f *Fetcher) onlyKnown(j job) bool { return f.o.Fork && !f.o.Policy.AllowsFork(j.url) }

// mayAsk reports whether the network may be used for an address.
func (f *Fetcher) mayAsk(u *url.URL) error {
	switch {
	case f.o.Offline:
		return denied("it is not in the source cache, and the network is not used")
	case f.o.Fork && !f.o.Policy.AllowsFork(u):
		return denied("it is not in the source cache, and is not fetched for a change from a fork")
	}
	return nil
}

// way is how an address is reached: where it is mirrored, and with the operator's credentials for that.
func (f *Fetcher) way(u *url.URL) (*url.URL, *Credential, error) {
	at, err := f.o.Policy.Mirror(u)
	if err != nil {
		return nil, nil, undecided("its mirror's address cannot be used: %v", err)
	}
	c, err := f.o.Policy.Credential(at)
	if err != nil {
		return nil, nil, undecided("%v", err)
	}
	return at, c, nil
}

// trip is a way to an address over HTTP.
func (f *Fetcher) trip(u *url.URL) (*url.URL, *trip, error) {
	at, c, err := f.way(u)
	if err != nil {
		return nil, nil, err
	}
	t := f.web.Trip()
	if c != nil {
		t.Authorization = c.Header()
	}
	return at, t, nil
}
