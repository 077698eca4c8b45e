package fetch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// pinned splits a reference of a registry into a version and a digest.
func pinned(ref string) (version, digest string) {
	if strings.HasPrefix(ref, "sha256:") {
		return "", ref
	}
	if version, hex, ok := strings.Cut(ref, "@sha256:"); ok {
		return version, "sha256:" + hex
	}
	return ref, ""
}

// getRepository fetches a chart from a chart repository.
func (f *Fetcher) getRepository(ctx context.Context, j job) (remote.Note, error) {
	index, hosts, err := f.index(ctx, j.url, f.o.Fresh)
	if err != nil {
		return remote.Note{}, err
	}
	v, err := findVersion(index, j.want.Name, j.want.Ref)
	if err != nil { // the version may be newer than the cached index
		if index, hosts, err = f.index(ctx, j.url, justNow); err != nil {
			return remote.Note{}, err
		}
		v, err = findVersion(index, j.want.Name, j.want.Ref)
	}
	if err != nil {
		return remote.Note{}, err
	}
	from, err := relativeTo(j.url, v.URLs[0])
	if err != nil {
		return remote.Note{}, undecided("the address that the index has for version %s cannot be used: %v",
			quote(v.Version), err)
	}
	if from.Host != j.url.Host || from.Scheme != j.url.Scheme {
		if !f.o.Policy.Allows(from) {
			return remote.Note{}, denied("the index points to the host %s, which is not in the list of allowed "+
				"sources", from.Host)
		}
		hosts = append(hosts, remote.WithoutSecrets(from))
	}
	if err := f.mayAsk(from); err != nil {
		return remote.Note{}, err
	}
	if from.Scheme == "oci" {
		at := strings.LastIndexByte(from.Path, ':')
		if at < 0 {
			return remote.Note{}, broken("the index points to a registry without a tag")
		}
		tag := from.Path[at+1:]
		from.Path, from.RawPath = from.Path[:at], ""
		n, err := f.getRegistry(ctx, from, remote.Want{Ref: tag, Tag: true})
		n.Hosts = append(n.Hosts, hosts...)
		return n, err
	}
	p := parcel{key: remote.Key("chart", j.url.String(), j.want.Name, v.Version), digest: v.Digest, version: v.Version,
		what: "chart " + j.want.Name + " " + v.Version + " of " + remote.WithoutSecrets(j.url), hosts: hosts}
	return f.unpacked(ctx, p, func(p *parcel) ([]byte, error) {
		at, trip, err := f.trip(from)
		if err != nil {
			return nil, err
		}
		got, err := trip.Get(ctx, at, "", f.o.Charts.Packed)
		if err != nil {
			return nil, err
		}
		p.hosts = append(p.hosts, trip.Hosts()...)
		return got.Body, nil
	})
}

// relativeTo resolves an address in an index as Helm does: a relative one is below the repository's address, and gets
// its query.
func relativeTo(repository *url.URL, address string) (*url.URL, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, broken("it is not an address")
	}
	if to.IsAbs() {
		return remote.Address(address)
	}
	base := *repository
	base.RawPath = ""
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	to = base.ResolveReference(to)
	to.RawQuery = repository.RawQuery
	return remote.Address(to.String())
}

// justNow is how old a cached index may be that lacks the wanted version: one check may want several that it lacks.
const justNow = 5 * time.Second

// index returns the index of a chart repository, and the further hosts that it came from. It is not fetched again if
// the cached one is younger than fresh.
func (f *Fetcher) index(ctx context.Context, repository *url.URL, fresh time.Duration) ([]byte, []string, error) {
	key := remote.Key("index", repository.String())
	unlock, err := f.store.Lock(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	n, err := f.store.Note(key)
	if err != nil {
		return nil, nil, err
	}
	data, err := f.store.File(key)
	if err != nil {
		return nil, nil, err
	}
	if data != nil && f.store.Now().Sub(n.Asked) < fresh {
		return data, n.Hosts, f.mayUse(ctx, n)
	}
	from, err := relativeTo(repository, "index.yaml")
	if err != nil {
		return nil, nil, undecided("%v", err)
	}
	at, trip, err := f.trip(from)
	if err != nil {
		return nil, nil, err
	}
	etag := n.ETag
	if data == nil {
		etag = ""
	}
	got, err := trip.Get(ctx, at, etag, maxIndex)
	if err != nil {
		return nil, nil, inIndex(err)
	}
	if !got.NotChanged {
		data = got.Body
		if err := f.store.PutFile(key, data); err != nil {
			return nil, nil, err
		}
	}
	n = remote.Note{What: "the index of " + remote.WithoutSecrets(repository), ETag: got.ETag, Asked: f.store.Now(),
		Hosts: trip.Hosts()}
	return data, n.Hosts, f.store.Put(key, n)
}

// inIndex adds to an error that the index could not be read.
func inIndex(err error) error {
	if failureOf(err) == nil {
		return err
	}
	failure := *failureOf(err)
	failure.Message = "the index of the chart repository: " + failure.Message
	return &failure
}

// getRegistry fetches a chart from a registry. Only the version counts in what a want says.
func (f *Fetcher) getRegistry(ctx context.Context, u *url.URL, w remote.Want) (remote.Note, error) {
	at, c, err := f.way(u)
	if err != nil {
		return remote.Note{}, err
	}
	if at.Scheme != "oci" {
		return remote.Note{}, undecided("its mirror is not a registry")
	}
	repo, err := newOCIRepository(f.web, at, f.o.Policy.PlainHTTP(at), c)
	if err != nil {
		return remote.Note{}, err
	}
	version, exactly := pinned(w.Ref)
	reference := exactly
	if reference == "" {
		if version, err = resolveTag(ctx, repo, w); err != nil {
			return remote.Note{}, err
		}
		reference = tagOf(version)
	}
	manifest, err := repo.Chart(ctx, reference)
	if err != nil {
		return remote.Note{}, err
	}
	name := manifest.Manifest
	if exactly == "" && exactVersion(version) {
		name = version // the first digest of a version is remembered
	}
	p := parcel{key: remote.Key("oci", u.String(), name), digest: manifest.Layer, version: version,
		what: "chart " + path.Base(u.Path) + " " + reference + " of " + remote.WithoutSecrets(u), hosts: repo.Hosts()}
	return f.unpacked(ctx, p, func(*parcel) ([]byte, error) { return repo.Pull(ctx, manifest, f.o.Charts.Packed) })
}

// resolveTag returns the tag for a reference. A whole version is used as the tag. A short one such as "1.2" is a tag
// for Helm and a range for Flux: it is used as a tag if that tag exists.
func resolveTag(ctx context.Context, repo *ociRepository, w remote.Want) (string, error) {
	ref := w.Ref
	if w.Tag && ref != "" || exactVersion(ref) {
		return ref, nil
	}
	tags, err := repo.Tags(ctx)
	if err != nil {
		return "", err
	}
	if versions, ok := strings.CutPrefix(ref, remote.Versions); ok {
		fits, err := regexp.Compile(w.Filter)
		if err != nil {
			return "", broken("the filter of tags is not a regular expression")
		}
		tags = slices.DeleteFunc(tags, func(tag string) bool { return !fits.MatchString(tag) })
		return newestTag(tags, versions, false)
	}
	if ref != "" && slices.Contains(tags, tagOf(ref)) {
		return ref, nil
	}
	versions := versionsOfTags(tags)
	n, err := pickVersion(versions, ref)
	if err != nil {
		return "", err
	}
	return versions[n], nil
}

// parcel is a packed chart that is to be fetched, and what is known about it before.
type parcel struct {
	key     string // of the note that has its tree
	digest  string // the expected one; empty: not known
	version string // empty: that of its Chart.yaml
	what    string
	hosts   []string
}

// unpacked returns the content of a packed chart. It calls get only if the store does not have it.
func (f *Fetcher) unpacked(ctx context.Context, p parcel, get func(*parcel) ([]byte, error)) (remote.Note, error) {
	unlock, err := f.store.Lock(ctx, p.key)
	if err != nil {
		return remote.Note{}, err
	}
	defer unlock()
	n, err := f.store.Note(p.key)
	if err != nil {
		return remote.Note{}, err
	}
	unchanged := p.digest == n.Digest
	if p.digest == "" {
		unchanged = f.o.Recheck == 0 || f.store.Now().Sub(n.Asked) < f.o.Recheck
	}
	if n.Tree != "" && unchanged {
		f.store.Used(p.key)
		return p.note(n), nil
	}
	packed, err := get(&p)
	if err != nil {
		return remote.Note{}, err
	}
	got := digest(packed)
	if p.digest != "" && p.digest != got {
		return remote.Note{}, broken("the packed chart does not have the digest that its repository lists")
	}
	// Unpacked charts are large, so only a few are unpacked at a time.
	select {
	case f.unpacking <- struct{}{}:
		defer func() { <-f.unpacking }()
	case <-ctx.Done():
		return remote.Note{}, context.Cause(ctx)
	}
	files, version, err := unpack(packed, f.o.Charts)
	if err != nil {
		return remote.Note{}, err
	}
	if p.version == "" {
		p.version = version
	}
	first := n.First
	n = remote.Note{What: p.what, Revision: p.version, Digest: got, First: first, Hosts: p.hosts, Asked: f.store.Now(),
		Bytes: int64(len(packed))}
	if first == "" {
		n.First = got
	}
	if n.Tree, err = f.store.WriteFiles(ctx, p.key, files); err != nil {
		return remote.Note{}, err
	}
	return p.note(n), f.store.Put(p.key, n)
}

// note returns the note of the want from that of the parcel.
func (p parcel) note(n remote.Note) remote.Note {
	w := remote.Note{Tree: n.Tree, Revision: n.Revision, Digest: n.Digest, Content: p.key, Hosts: n.Hosts}
	if n.First != n.Digest {
		w.Changed = n.First
	}
	return w
}

// getFile fetches a single file.
func (f *Fetcher) getFile(ctx context.Context, j job, before remote.Note) (remote.Note, error) {
	at, trip, err := f.trip(j.url)
	if err != nil {
		return remote.Note{}, err
	}
	etag := ""
	if before.Tree != "" {
		etag = before.ETag
	}
	got, err := trip.Get(ctx, at, etag, maxFile)
	if err != nil {
		return remote.Note{}, err
	}
	if got.NotChanged {
		before.Failure = nil
		return before, nil
	}
	n := remote.Note{Digest: digest(got.Body), ETag: got.ETag, Hosts: trip.Hosts(), Bytes: int64(len(got.Body))}
	n.Tree, err = f.store.WriteFiles(ctx, j.key, []remote.TreeFile{{Name: remote.FileName, Data: got.Body}})
	return n, err
}

// digest returns the digest of content as registries write it.
func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
