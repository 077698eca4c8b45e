package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// find returns the requested page, and whether it is private; ErrNone if there is nothing that the reader may see.
func (h *Handler) find(r *http.Request, path []string, ok bool) (p *readyPage, private bool, err error) {
	_, signedIn := h.config.Guard.Reader(r)
	view := View{Base: h.config.Base, SignedIn: signedIn}
	switch {
	case !ok:
		return nil, false, ErrNone
	case path[0] == "o" && len(path) == 2:
		return h.organisation(r, path[1], view)
	case (path[0] != "o" || len(path) != 3) && (path[0] != "r" || len(path) < 4):
		return nil, false, ErrNone
	}
	o, err := h.allowed(r, path[1], path[2])
	switch {
	case err != nil:
		return nil, false, err
	case path[0] == "o":
		return h.repository(r, o.Repository, view)
	}
	return h.result(r, o.Repository, path[3:], view)
}

// allowed returns a repository that the reader may see, by its present or a former name. It is private if not everybody
// may see it now.
func (h *Handler) allowed(r *http.Request, owner, name string) (*Summary, error) {
	found, err := cachedLookup(r.Context(), h, "n/"+nameKey(owner, name), lookupLife,
		func(ctx context.Context) (*Summary, error) { return h.config.Store.Find(ctx, owner, name) })
	if err != nil {
		return nil, err
	}
	level := h.level(r, found.Repository)
	if level == Hidden {
		return nil, ErrNone
	}
	now := *found
	now.Repository.Private = level == Private
	return &now, nil
}

// level asks the guard. If that fails, the level is Hidden, as for a repository that does not exist.
func (h *Handler) level(r *http.Request, repository forge.Repository) Level {
	level, err := h.config.Guard.Level(r, repository)
	if err != nil {
		h.config.Log.Warn("who may see a page is not known", "repository", repository.String(), "error", err)
		return Hidden
	}
	return level
}

// repository returns the page of a repository. It is also private if it names a private repository.
func (h *Handler) repository(r *http.Request, repository forge.Repository,
	view View) (p *readyPage, private bool, err error) {
	view.Here = view.Base + RepositoryPath(repository)
	which, private, err := h.previews(r, repository, &view)
	if err != nil {
		return nil, false, err
	}
	p, err = h.page(r.Context(), key("o", fmt.Sprintf("%+v/%s/%t", repository, which, view.More), view), overviewLife,
		func(ctx context.Context, b *bytes.Buffer) error {
			o, err := h.config.Store.Overview(ctx, repository.ID)
			if err != nil {
				return err
			}
			o.Repository = repository // as it is called now
			return h.config.Renderer.Repository(b, o, view)
		})
	return p, private || repository.Private, err
}

const (
	// maxShown limits the repositories on the page of an account. maxAsked limits the repositories about which the
	// guard is asked, since each may cost two requests to GitHub every few minutes for each reader.
	maxShown, maxAsked = 50, 200
	// asking limits the concurrent questions to the guard.
	asking = 16
	// maxForeign limits the private repositories in a result about which the guard is asked; lines of further ones are
	// shown to nobody.
	maxForeign = 20
)

// organisation returns the page of an account. It is hidden if no repository is shown.
func (h *Handler) organisation(r *http.Request, owner string, view View) (p *readyPage, private bool, err error) {
	all, err := cachedLookup(r.Context(), h, "a/"+hexOf(owner), accountLife, func(ctx context.Context) ([]*Summary, error) {
		return h.config.Store.Organisation(ctx, owner)
	})
	if err != nil {
		return nil, false, err
	}
	shown, err := h.visible(r, all, view.SignedIn)
	if err != nil {
		return nil, false, err
	}
	view.More = len(shown) > maxShown
	shown = shown[:min(len(shown), maxShown)]
	if len(shown) == 0 {
		return nil, false, ErrNone
	}
	which := sha256.New()
	for _, s := range shown {
		private = private || s.Repository.Private
		fmt.Fprint(which, s.Repository.ID, s.Repository.Private, " ")
	}
	owner = shown[0].Repository.Owner // as it is written
	view.Here = view.Base + OrganisationPath(owner)
	name := fmt.Sprintf("%s/%x/%t", hexOf(owner), which.Sum(nil), view.More)
	p, err = h.page(r.Context(), key("a", name, view), overviewLife, func(_ context.Context, b *bytes.Buffer) error {
		return h.config.Renderer.Organisation(b, owner, shown, view)
	})
	return p, private, err
}

// visible returns the repositories that the reader may see, at most one more than are shown. A reader who is not signed
// in does not see those that were private when their newest result was stored, since that would need a request to
// GitHub for each.
func (h *Handler) visible(r *http.Request, all []*Summary, signedIn bool) (shown []*Summary, err error) {
	if !signedIn {
		all = slices.DeleteFunc(slices.Clone(all), func(s *Summary) bool { return s.Repository.Private })
	}
	var unknown atomic.Pointer[error]
	for some := range slices.Chunk(all[:min(len(all), maxAsked)], asking) {
		answers, err := each(r.Context(), some, func(ctx context.Context, s *Summary) (Level, error) {
			level, err := h.config.Guard.Level(r.WithContext(ctx), s.Repository)
			if err != nil {
				unknown.Store(&err)
				level = Hidden
			}
			return level, ctx.Err()
		})
		if err != nil {
			return nil, err
		}
		for i, level := range answers {
			if level != Hidden && len(shown) <= maxShown {
				s := *some[i]
				s.Repository.Private = level == Private
				shown = append(shown, &s)
			}
		}
		if len(shown) > maxShown {
			break
		}
	}
	if err := unknown.Load(); err != nil {
		h.config.Log.Warn("who may see some repositories of a page is not known", "error", *err)
	}
	return shown, nil
}

// result returns a page about a commit: path is HEAD, HEAD/ID or HEAD/ID/PART. It is also private if it has lines of a
// private repository.
func (h *Handler) result(r *http.Request, repository forge.Repository, path []string,
	view View) (p *readyPage, private bool, err error) {
	ctx, head := r.Context(), path[0]
	private = repository.Private
	if !gitcmd.IsObjectID(head) || len(path) > 1 && !idPattern.MatchString(path[1]) ||
		len(path) > 3 || len(path) == 3 && !partPattern.MatchString(path[2]) {
		return nil, false, ErrNone
	}
	others, err := cachedLookup(ctx, h, fmt.Sprintf("h/%d/%s", repository.ID, head), lookupLife, func(ctx context.Context) ([]Meta, error) {
		return h.config.Store.OfHead(ctx, repository.ID, head)
	})
	if err != nil {
		return nil, false, err
	}
	var m *Meta
	switch {
	case len(path) > 1:
		if m, err = h.meta(ctx, repository, head, path[1], others); err != nil {
			return nil, false, err
		}
	case len(others) == 0:
		return nil, false, ErrNone
	default:
		m = &others[0]
	}
	shown := *m
	shown.Repository = repository // as it is called now
	view.Others, view.Here = others, view.Base+shown.Path()
	for i, f := range shown.Foreign {
		level := Hidden
		if f.Repository.ID != 0 && i < maxForeign {
			level = h.level(r, f.Repository)
		}
		private = private || level == Private
		if level == Hidden {
			view.Withheld = append(view.Withheld, f.URL)
		}
	}
	if !repository.Private && shown.Of != nil { // what everybody may see must not tell of rules that not everybody may
		level := h.level(r, shown.Of.Repository)
		if level == Hidden {
			return nil, false, ErrNone
		}
		private = private || level == Private
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
	p, err = h.page(ctx, key("r", name, view), 0, func(ctx context.Context, b *bytes.Buffer) error {
		stored, err := h.config.Store.Load(ctx, &shown)
		if err != nil {
			return err
		}
		if part != "" {
			return h.config.Renderer.Part(b, stored, part, view)
		}
		return h.config.Renderer.Result(b, stored, view)
	})
	return p, private, err
}

// meta returns one of the results of a commit, which may have more results than are listed.
func (h *Handler) meta(ctx context.Context, repository forge.Repository, head, id string, others []Meta) (*Meta, error) {
	for i := range others {
		if others[i].ID == id {
			return &others[i], nil
		}
	}
	return cachedLookup(ctx, h, fmt.Sprintf("m/%d/%s/%s", repository.ID, head, id), lookupLife, func(ctx context.Context) (*Meta, error) {
		return h.config.Store.Meta(ctx, repository.ID, head, id)
	})
}

// key distinguishes pages that differ for their readers.
func key(kind, name string, v View) string {
	return fmt.Sprintf("%s/%t/%q/%s", kind, v.SignedIn, v.Withheld, name)
}

// page returns a cached page, or makes it.
func (h *Handler) page(ctx context.Context, key string, life time.Duration,
	render func(context.Context, *bytes.Buffer) error) (*readyPage, error) {
	return h.pages.Ask(ctx, key, func(ctx context.Context) (*readyPage, store.Span, error) {
		var b bytes.Buffer
		if err := render(ctx, &b); err != nil {
			return nil, store.Span{}, fmt.Errorf("making a page: %w", err)
		}
		return newPage(http.StatusOK, b.Bytes()), store.Span{From: h.config.Now(), Life: life}, nil
	})
}

// cachedLookup returns the store's answer, from the cache if it is recent; ErrNone is cached, too.
func cachedLookup[T any](ctx context.Context, h *Handler, key string, life time.Duration,
	ask func(context.Context) (T, error)) (T, error) {
	got, err := h.looks.Ask(ctx, key, func(ctx context.Context) (any, store.Span, error) {
		value, err := ask(ctx)
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, store.Span{}, err
		}
		return value, store.Span{From: h.config.Now(), Life: life}, err
	})
	value, _ := got.(T)
	return value, err
}

// Estimated sizes of the store's answers, rather too large than too small.
const (
	baseSize  = 2 << 10
	pointSize = 64
)

func lookedSize(said any) int64 {
	n := int64(baseSize)
	switch v := said.(type) {
	case []*Summary:
		for _, s := range v {
			n += lookedSize(s)
		}
	case []*PreviewResult:
		n += int64(baseSize * len(v))
	case []Meta:
		n += int64(baseSize * len(v))
	case *Summary:
		if v != nil {
			n += int64(pointSize * len(v.Trend))
		}
	}
	return n
}
