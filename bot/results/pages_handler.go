package results

import (
	"net/http"

	"github.com/lintel-bot/lintel/bot/access"
)

// PageHandler serves the pages of results to those who may see them. A reader is looked up once for each request, however
// many repositories are on the page.
type PageHandler struct {
	*Handler
	readers *access.Access
}

// NewPages returns a handler, for which c needs neither a renderer nor a guard. The error is that of results.New.
func NewPages(c Config, readers *access.Access) (*PageHandler, error) {
	c.Renderer, c.Guard = HTML{SignIn: readers.CanSignIn()}, guard{readers}
	h, err := New(c)
	if err != nil {
		return nil, err
	}
	return &PageHandler{h, readers}, nil
}

// ServeHTTP implements http.Handler.
func (h *PageHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(w, h.readers.Once(r))
}

// guard is a results.Guard: who may read a repository by GitHub's word.
type guard struct{ readers *access.Access }

// Access implements results.Guard.
func (g guard) Access(r *http.Request, of Repository) (Access, error) {
	decision, err := g.readers.May(r, access.Repository{ID: of.ID, InstallationID: of.Installation, Owner: of.Owner, Name: of.Name,
		Private: of.Private})
	_, known := g.readers.Reader(r)
	switch {
	case err != nil || decision != access.Allowed:
		return Hidden, err
	case known || of.Private:
		return Private, nil
	}
	return Public, nil // nobody in particular may see it
}

// SignedIn implements results.Guard.
func (g guard) SignedIn(r *http.Request) bool {
	_, ok := g.readers.Reader(r)
	return ok
}

// Turn implements results.Guard.
func (g guard) Turn(w http.ResponseWriter, r *http.Request) bool {
	decision := g.readers.Missing(r)
	if decision == access.NotFound && !g.readers.CanSignIn() {
		return false
	}
	g.readers.Answer(w, r, decision) // a 404, too: it says who the reader is, who may want to be somebody else
	return true
}
