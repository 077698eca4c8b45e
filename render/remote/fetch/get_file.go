package fetch

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/lintel-bot/lintel/render/remote"
)

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
