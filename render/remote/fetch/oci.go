package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Media types of the parts of a chart (https://helm.sh/docs/topics/registries/#helm-chart-manifest).
const (
	configType = "application/vnd.cncf.helm.config.v1+json"
	layerType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	oldLayer   = "application/tar+gzip"
)

const (
	maxManifest = 1 << 20
	maxTags     = 100_000
	maxPages    = 1_000
)

// ociRepository is one repository of a registry. A value is used to fetch one thing only.
type ociRepository struct {
	client *webClient
	meta   *remote.Repository
	blobs  *remote.Repository
	trip   *trip
}

// newOCIRepository returns the repository at an oci address. The credentials may be nil.
func newOCIRepository(client *webClient, u *url.URL, plain bool, c *auth.Credential) (*ociRepository, error) {
	r := &ociRepository{client: client, trip: client.Trip()}
	// The digest of a blob is known before it is fetched, and registries redirect to storage hosts that no list names.
	pinned := client.Trip()
	pinned.Pinned = true
	cache := auth.NewCache()
	for _, part := range []struct {
		to   **remote.Repository
		trip *trip
	}{{&r.meta, r.trip}, {&r.blobs, pinned}} {
		repo, err := remote.NewRepository(u.Host + strings.TrimSuffix(u.Path, "/"))
		if err != nil || repo.Reference.Reference != "" {
			return nil, undecided("the address is not one of a chart in a registry")
		}
		repo.PlainHTTP, repo.MaxMetadataBytes = plain, maxManifest
		repo.Client = &auth.Client{Client: part.trip.HTTP(), Cache: cache, Header: http.Header{"User-Agent": {"lintel"}},
			Credential: auth.StaticCredential(repo.Reference.Host(), *cmp.Or(c, &auth.Credential{}))} // to this host only
		*part.to = repo
	}
	return r, nil
}

// Hosts returns further addresses that redirects led to.
func (r *ociRepository) Hosts() []string { return r.trip.Hosts() }

// Tags returns the tags of the repository.
func (r *ociRepository) Tags(ctx context.Context) (tags []string, err error) {
	err = r.again(ctx, func() error {
		tags = nil
		pages := 0
		return r.meta.Tags(ctx, "", func(page []string) error {
			tags = append(tags, page...)
			if pages++; len(tags) > maxTags || pages > maxPages {
				return undecided("the registry has more than %d tags of it", maxTags)
			}
			return nil
		})
	})
	return tags, err
}

// ociChart is the manifest of a chart.
type ociChart struct {
	Manifest string // its digest
	Layer    string // the digest of the packed chart
	layer    ocispec.Descriptor
}

// Chart returns the manifest that a tag or a digest means.
func (r *ociRepository) Chart(ctx context.Context, reference string) (*ociChart, error) {
	if _, err := r.meta.ParseReference(reference); err != nil {
		return nil, broken("%q can be neither a tag nor a digest of a registry", reference)
	}
	var data []byte
	var desc ocispec.Descriptor
	err := r.again(ctx, func() error {
		d, body, err := r.meta.Manifests().FetchReference(ctx, reference)
		if err != nil {
			return err
		}
		defer body.Close()
		if d.Size > maxManifest {
			return undecided("its manifest is too large")
		}
		desc = d
		data, err = content.ReadAll(body, d)
		return err
	})
	if f := failureOf(err); f != nil && f.Broken && data == nil {
		return nil, broken("the registry has no such chart or version: %s", f.Message)
	}
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil || m.Config.MediaType != configType {
		return nil, broken("what the registry has there is not a chart")
	}
	n := slices.IndexFunc(m.Layers, func(l ocispec.Descriptor) bool {
		return l.MediaType == layerType || l.MediaType == oldLayer
	})
	if n < 0 || m.Layers[n].Digest.Validate() != nil {
		return nil, broken("what the registry has there is a chart without content")
	}
	return &ociChart{Manifest: desc.Digest.String(), Layer: m.Layers[n].Digest.String(), layer: m.Layers[n]}, nil
}

// Pull returns the packed chart, at most max bytes.
func (r *ociRepository) Pull(ctx context.Context, c *ociChart, max int64) (packed []byte, err error) {
	if c.layer.Size > max {
		return nil, undecided("the packed chart is larger than %d MiB", max>>20)
	}
	err = r.again(ctx, func() error {
		body, err := r.blobs.Blobs().Fetch(ctx, c.layer)
		if err != nil {
			return err
		}
		defer body.Close()
		packed, err = content.ReadAll(body, c.layer)
		return err
	})
	return packed, err
}

// again repeats what may work the next time, and returns a failure in one sentence.
func (r *ociRepository) again(ctx context.Context, do func() error) error {
	return r.client.Retry(ctx, func() error {
		err := do()
		var answered *errcode.ErrorResponse
		switch {
		case err == nil || failureOf(err) != nil:
			return err
		case errors.Is(err, errdef.ErrNotFound):
			return statusFailure(http.StatusNotFound)
		case errors.As(err, &answered):
			return registryStatus(answered)
		case errors.Is(err, auth.ErrBasicCredentialNotFound):
			return statusFailure(http.StatusUnauthorized)
		case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData),
			errors.Is(err, content.ErrInvalidDescriptorSize):
			return broken("the content from the registry does not have its digest")
		}
		return retry(ctx, err)
	})
}

// registryStatus returns the failure for an HTTP status. Only the registry itself can say that something does not
// exist; the server that issues tokens cannot.
func registryStatus(e *errcode.ErrorResponse) error {
	err := statusFailure(e.StatusCode)
	if f := failureOf(err); f != nil && f.Broken && (e.URL == nil || !strings.HasPrefix(e.URL.Path, "/v2/")) {
		return undecided("the token service of the registry gave no token (HTTP %d)", e.StatusCode)
	}
	return err
}
