package results

import (
	"io"
	"net/http"

	"github.com/lintel-bot/lintel/bot/access"
	"github.com/lintel-bot/lintel/bot/forge"
)

// Renderer makes HTML. It is called for one page at a time by up to Config.Renderings goroutines; what it writes is
// kept and sent to many readers.
type Renderer interface {
	// Result writes the page of a result, also of one whose Report is nil.
	Result(w io.Writer, r *Stored, v View) error
	// Part writes what the page of a result leaves to be loaded on demand, from an address below its own; ErrNone if
	// there is no such part.
	Part(w io.Writer, r *Stored, part string, v View) error
	// Repository writes the page of a repository, Organisation that of an account, with those of its repositories that
	// the reader may see, the ones with the most to do first.
	Repository(w io.Writer, o *Overview, v View) error
	Organisation(w io.Writer, owner string, repositories []*Summary, v View) error
	// Message writes a page that says why there is no other.
	Message(w io.Writer, m Message, v View) error
}

// View is what a page has to know of where it stands. A page is kept for all readers for whom it is the same.
type View struct {
	Base     string // begins the addresses of all pages: "", or a path such as /lintel
	Here     string // path of this page, with Base
	SignedIn bool   // the reader could sign out
	Others   []Meta // all results of the same commit, newest first
	More     bool   // the account, or Outlooks, has more repositories that the reader may see
	// what pull requests of the repository would change in others that the reader may see, the newest first
	Previews []PreviewResult
	Withheld []string // URLs of what of Meta.Foreign the reader may not read
}

// Message is a page without data.
type Message struct {
	Status int
	Title  string
	Text   string
}

// Guard decides who may see the pages of a repository; *access.Access does.
type Guard interface {
	// Once is a request of which the other methods find out at most once who sent it.
	Once(r *http.Request) *http.Request
	// Level is what the sender of a request may see of a repository now. An error counts as Hidden.
	Level(r *http.Request, repository forge.Repository) (access.Level, error)
	// Reader is the login of the sender, if there is a session that could be ended.
	Reader(r *http.Request) (login string, signedIn bool)
	// Turn may answer a request for a page that the sender may not see, or that is not there, which are the same here: it
	// asks to sign in, say. False: it did not, and the answer is 404.
	Turn(w http.ResponseWriter, r *http.Request) bool
}
