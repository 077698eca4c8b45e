package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// objection returns why an approval does not count, or "".
func (d *decision) objection(ctx context.Context, e report.Exception, r forge.Review,
	owners []string) (string, error) {
	if strings.EqualFold(r.User, d.pr.Author) {
		return "the author cannot approve", nil
	}
	if d.pushers[strings.ToLower(r.User)] || d.pushers[store.Everybody] {
		return "who pushed to the pull request cannot approve", nil
	}
	may, err := d.allowed(ctx, r.User, owners)
	if err != nil {
		return "", err
	}
	if !may {
		return "not among those who may approve", nil
	}
	return d.sameContent(ctx, e, r)
}

// gone is the objection against a review of which nothing can be found out.
const gone = "the reviewed commit is not on GitHub any more"

// sameContent compares the files that were reviewed with the present ones.
func (d *decision) sameContent(ctx context.Context, e report.Exception, r forge.Review) (string, error) {
	why, err := d.sameFile(ctx, report.File{Path: e.Path, Blob: e.Blob}, r)
	for _, f := range e.With {
		if why != "" || err != nil {
			return why, err
		}
		if why, err = d.sameFile(ctx, f, r); why != "" && why != gone {
			why = fmt.Sprintf("%s, on which it depends, changed after the review", f.Path)
		}
	}
	return why, err
}

func (d *decision) sameFile(ctx context.Context, f report.File, r forge.Review) (string, error) {
	id, err := d.git.BlobID(ctx, d.gitDir, r.CommitSHA, f.Path)
	var vanished *mirror.Vanished
	if errors.As(err, &vanished) {
		// Pushed over since, and this mirror is younger.
		err = d.git.Ensure(ctx, d.repo, r.CommitSHA)
		if errors.As(err, &vanished) {
			return gone, nil
		}
		if err != nil {
			return "", err
		}
		if id, err = d.git.BlobID(ctx, d.gitDir, r.CommitSHA, f.Path); errors.As(err, &vanished) {
			return gone, nil
		}
	}
	var none *mirror.NoFile
	switch {
	case errors.As(err, &none) && f.Blob == "":
		return "", nil
	case errors.As(err, &none):
		return "the file was not in the reviewed commit", nil
	case err != nil:
		return "", err
	case id != f.Blob:
		return "the file changed after the review", nil
	}
	return "", nil
}
