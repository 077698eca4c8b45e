package pages

import (
	"net/http"

	"github.com/lintel-bot/lintel/bot/access"
	"github.com/lintel-bot/lintel/bot/results"
)

// Handler serves the pages of results to those who may see them. A reader is looked up once for each request, however
// many repositories are on the page.
type Handler struct {
	*results.Handler
	readers *access.Access
}

// New returns a handler, for which c needs neither a renderer nor a guard. The error is that of results.New.
func New(c results.Config, readers *access.Access) (*Handler, error) {
	c.Renderer, c.Guard = Renderer{SignIn: readers.CanSignIn()}, guard{readers}
	h, err := results.New(c)
	if err != nil {
		return nil, err
	}
	return &Handler{h, readers}, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(w, h.readers.Once(r))
}

// guard is a results.Guard: who may read a repository by GitHub's word.
type guard struct{ readers *access.Access }

// Access implements results.Guard.
func (g guard) Access(r *http.Request, of results.Repository) (results.Access, error) {
	decision, err := g.readers.May(r, access.Repository{ID: of.ID, InstallationID: of.Installation, Owner: of.Owner, Name: of.Name,
		Private: of.Private})
	_, known := g.readers.Reader(r)
	switch {
	case err != nil || decision != access.Allowed:
		return results.Hidden, err
	case known || of.Private:
		return results.Private, nil
	}
	return results.Public, nil // nobody in particular may see it
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
