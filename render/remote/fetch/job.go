package fetch

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/lintel-bot/lintel/render/remote"
)

// job is a want, prepared for fetching.
type job struct {
	want  remote.Want
	url   *url.URL // canonical, the form that allow-lists are compared with
	key   string   // of its note
	scope string   // for content that needs a token; empty: public content
	token string
	ssh   bool // the want had an ssh address

	fixed bool // it always means the same content
	exact bool // it should always mean the same content: an exact version
}

// good reports whether a result of that age is still good enough.
func (j job) good(age time.Duration, o Options) bool {
	switch {
	case j.fixed:
		return true
	case j.exact:
		return o.Recheck == 0 || age < o.Recheck
	}
	return age < o.Fresh
}

// schemes are the URL schemes allowed for each kind of want.
var schemes = map[remote.Kind][]string{
	remote.Git:   {"https", "http", "ssh"},
	remote.Chart: {"https", "http", "oci"},
	remote.File:  {"https", "http"},
}

// job checks whether a want may be fetched at all, and prepares it.
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

// gitJob adds the credentials for a git repository.
func (f *Fetcher) gitJob(ctx context.Context, j job) (job, error) {
	if j.url.Scheme == "ssh" && !f.o.UserGit {
		j.url, j.ssh = remote.HTTPS(j.url), true // there is no ssh key to use; the repository is read by https instead
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
	// A submodule may need a token even if the repository does not.
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
		err = denied("it is a private repository that somebody who took part in this change may not read")
	}
	return err
}

// mayUse reports whether content in the store may be used now: this policy may not allow the hosts that it came from,
// or the asker may not read the private repositories that are part of it.
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

// onlyKnown reports whether a fork asks for an address that may only be answered from the store.
func (f *Fetcher) onlyKnown(u *url.URL) bool { return f.o.Fork && !f.o.Policy.AllowsFork(u) }

// mayAsk reports whether an address may be asked over the network.
func (f *Fetcher) mayAsk(u *url.URL) error {
	switch {
	case f.o.Offline:
		return denied("it is not in the source cache, and the network is not used")
	case f.onlyKnown(u):
		return denied("it is not in the source cache, and is not fetched for a change from a fork")
	}
	return nil
}

// way returns the address that is really asked, which may be of a mirror, and the operator's credentials for it.
func (f *Fetcher) way(u *url.URL) (*url.URL, *auth.Credential, error) {
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

// trip returns the address that is really asked, and a trip to it over HTTP.
func (f *Fetcher) trip(u *url.URL) (*url.URL, *trip, error) {
	at, c, err := f.way(u)
	if err != nil {
		return nil, nil, err
	}
	t := f.web.Trip()
	if c != nil {
		t.Authorization = authorization(c)
	}
	return at, t, nil
}
