package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// errHidden means that there is nothing that the reader may see.
var errHidden = errors.New("there is no such page for this reader")

// find returns the page that a request is for, and whether what it shows is private.
func (h *Handler) find(r *http.Request, path []string, ok bool) (p *page, private bool, err error) {
	view := View{Base: h.config.Base, SignedIn: h.config.Guard.SignedIn(r)}
	switch {
	case !ok:
		return nil, false, errHidden
	case path[0] == "o" && len(path) == 2:
		return h.organisation(r, path[1], view)
	case path[0] == "o" && len(path) == 3:
		o, err := h.allowed(r, path[1], path[2])
		if err != nil {
			return nil, false, err
		}
		view.Here = view.Base + RepositoryPath(o.Repository)
		p, err := h.page(r.Context(), key("o", fmt.Sprint(o.Repository.ID, o.Repository.Private), view), overviewLife,
			func(_ context.Context, b *bytes.Buffer) error {
				return h.config.Renderer.Repository(b, o, view)
			})
		return p, o.Repository.Private, err
	case path[0] == "r" && len(path) >= 4:
		o, err := h.allowed(r, path[1], path[2])
		if err != nil {
			return nil, false, err
		}
		p, err := h.result(r, o.Repository, path[3:], view)
		if errors.Is(err, ErrNone) {
			err = errHidden
		}
		return p, o.Repository.Private, err
	}
	return nil, false, errHidden
}

// allowed returns the overview of a repository that the reader may see, by a name that it has or had.
func (h *Handler) allowed(r *http.Request, owner, name string) (*Overview, error) {
	o, err := lookup(r.Context(), h, "n/"+nameKey(owner, name), func(ctx context.Context) (*Overview, error) {
		id, err := h.config.Store.Find(ctx, owner, name)
		if err != nil {
			return nil, err
		}
		return h.config.Store.Overview(ctx, id)
	})
	switch {
	case errors.Is(err, ErrNone):
		return nil, errHidden
	case err != nil:
		return nil, err
	}
	access := h.access(r, o.Repository)
	if access == Hidden {
		return nil, errHidden
	}
	now := *o
	now.Repository.Private = access == Private
	return &now, nil
}

// access asks the guard. One that cannot tell lets nobody in, and the answer is no other than for what is not there.
func (h *Handler) access(r *http.Request, repository Repository) Access {
	access, err := h.config.Guard.Access(r, repository)
	if err != nil {
		h.config.Log.Warn("nobody knows who may see a page", "repository", repository.String(), "error", err)
		return Hidden
	}
	return access
}

// organisation is hidden where no repository of the account is shown.
func (h *Handler) organisation(r *http.Request, owner string, view View) (p *page, private bool, err error) {
	all, err := lookup(r.Context(), h, "a/"+hexOf(owner), func(ctx context.Context) ([]*Overview, error) {
		return h.config.Store.Organisation(ctx, owner)
	})
	if err != nil {
		return nil, false, err
	}
	var shown []*Overview
	which := sha256.New()
	for _, o := range all {
		access := h.access(r, o.Repository)
		if access == Hidden {
			continue
		}
		now := *o
		now.Repository.Private = access == Private
		shown, private = append(shown, &now), private || access == Private
		fmt.Fprint(which, o.Repository.ID, access, " ")
	}
	if len(shown) == 0 {
		return nil, false, errHidden
	}
	owner = shown[0].Repository.Owner // as it is written
	view.Here = view.Base + OrganisationPath(owner)
	p, err = h.page(r.Context(), key("a", hexOf(owner)+"/"+hex.EncodeToString(which.Sum(nil)), view), overviewLife,
		func(_ context.Context, b *bytes.Buffer) error {
			return h.config.Renderer.Organisation(b, owner, shown, view)
		})
	return p, private, err
}

// result is a page about a commit: path is HEAD, HEAD/ID or HEAD/ID/PART.
func (h *Handler) result(r *http.Request, repository Repository, path []string, view View) (*page, error) {
	ctx, head := r.Context(), path[0]
	if !headForm.MatchString(head) || len(path) > 1 && !idForm.MatchString(path[1]) ||
		len(path) > 3 || len(path) == 3 && !partForm.MatchString(path[2]) {
		return nil, ErrNone
	}
	others, err := lookup(ctx, h, fmt.Sprintf("h/%d/%s", repository.ID, head), func(ctx context.Context) ([]Meta, error) {
		return h.config.Store.OfHead(ctx, repository.ID, head)
	})
	if err != nil {
		return nil, err
	}
	if len(others) == 0 {
		return nil, ErrNone
	}
	m := &others[0]
	if len(path) > 1 {
		if m, err = h.meta(ctx, repository, head, path[1], others); err != nil {
			return nil, err
		}
	}
	shown := *m
	shown.Repository = repository // as it is called now
	view.Others, view.Here = others, view.Base+shown.Path()
	for _, f := range shown.Foreign {
		if f.Repository.ID == 0 || h.access(r, f.Repository) == Hidden {
			view.Withheld = append(view.Withheld, f.URL)
		}
	}
	part := ""
	if len(path) > 2 {
		part = path[2]
	}
	ids := sha256.New()
	for _, other := range others {
		fmt.Fprint(ids, other.ID, other.CheckRun, " ")
	}
	name := fmt.Sprintf("%+v/%s/%s/%s/%x/%q", repository, head, shown.ID, shown.Parts.Name, ids.Sum(nil), part)
	return h.page(ctx, key("r", name, view), 0, func(ctx context.Context, b *bytes.Buffer) error {
		stored, err := h.config.Store.Load(ctx, &shown)
		if err != nil {
			return err
		}
		if part != "" {
			return h.config.Renderer.Part(b, stored, part, view)
		}
		return h.config.Renderer.Result(b, stored, view)
	})
}

// meta is one of the results of a commit; there may be more of them than are listed.
func (h *Handler) meta(ctx context.Context, repository Repository, head, id string, others []Meta) (*Meta, error) {
	for i := range others {
		if others[i].ID == id {
			return &others[i], nil
		}
	}
	return lookup(ctx, h, fmt.Sprintf("m/%d/%s/%s", repository.ID, head, id), func(ctx context.Context) (*Meta, error) {
		return h.config.Store.Meta(ctx, repository.ID, head, id)
	})
}

// key tells pages apart that differ for their readers.
func key(kind, name string, v View) string {
	return fmt.Sprintf("%s/%t/%q/%s", kind, v.SignedIn, v.Withheld, name)
}

// page returns a page that is kept, or makes it.
func (h *Handler) page(ctx context.Context, key string, life time.Duration,
	render func(context.Context, *bytes.Buffer) error) (*page, error) {
	return h.pages.get(ctx, key, life, func(ctx context.Context) (*page, error) {
		var b bytes.Buffer
		if err := render(ctx, &b); err != nil {
			return nil, fmt.Errorf("making a page: %w", err)
		}
		return newPage(http.StatusOK, b.Bytes())
	})
}
