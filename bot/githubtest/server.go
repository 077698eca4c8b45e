// Package githubtest is a small imitation of GitHub for tests and the demo: the part of the REST API that
// a GitHub App for check runs uses, git over smart HTTP, and signed webhooks, all on a loopback address.
//
// It is as strict as GitHub: it checks tokens, and refuses and records requests that break a documented limit
// (Violations). State is in memory, and repositories are bare repositories in a temporary folder. Methods of Server do
// what a person does on GitHub: push, open a pull request, review. Inject and TamperHook add faults of the network and
// of GitHub.
package githubtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// Config is the configuration of a Server. The zero value works.
type Config struct {
	Now     func() time.Time // default time.Now
	KeyBits int              // size of the App's key; default 2048
}

// App is the GitHub App that is registered at the Server.
type App struct {
	ID         int64
	Slug       string
	PrivateKey []byte // PEM, PKCS #1, as GitHub issues it
	Secret     string // of webhooks
	// of the sign-in of people
	ClientID, ClientSecret string
}

// Server imitates GitHub. Its methods are safe for concurrent use.
type Server struct {
	app    App
	key    *rsa.PrivateKey
	now    func() time.Time
	dir    string // bare repositories, one folder each, named by id
	git    string // absolute path of git
	http   *httptest.Server
	client *http.Client
	closed chan struct{}
	hooks  chan *delivery
	done   sync.WaitGroup

	mu            sync.Mutex
	changed       chan struct{} // closed and replaced after every change
	lastID        int64
	hookURL       string
	installations map[string]*installation // by account, lower case
	permissions   map[string]string        // of the App
	used          map[string]string        // permissions that requests needed, with the highest level
	codes         map[string]time.Time     // of registrations, with their expiry
	tokens        map[string]*token
	repos         map[string]*repository // by full name, lower case
	teams         map[string]map[string]bool
	callbacks     []string             // of the sign-in
	cancels       bool                 // people who are asked to sign in cancel
	signIns       map[string]signIn    // by code
	userTokens    map[string]userToken // by token
	issued        []string             // codes and people's tokens
	accounts      map[string]int64     // ids by login, lower case, if accountID does not compute them; 0: nobody has the login
	logins        map[int64]string     // present logins of renamed accounts
	moved         map[string]int64     // old full names of repositories, lower case
	violations    []Violation
	requests      []Request
	faults        []*Fault
	tampers       []*HookFault
	deliveries    []*delivery
	pending       int // webhooks not answered yet
}

// New starts a Server. Close ends it and removes its files.
func New(c Config) (*Server, error) {
	s := &Server{
		now: c.Now, closed: make(chan struct{}), hooks: make(chan *delivery, 4096), changed: make(chan struct{}),
		lastID:      1000,
		permissions: appPermissions, used: map[string]string{}, codes: map[string]time.Time{},
		installations: map[string]*installation{}, tokens: map[string]*token{}, repos: map[string]*repository{},
		teams: map[string]map[string]bool{}, signIns: map[string]signIn{}, userTokens: map[string]userToken{},
		accounts: map[string]int64{}, logins: map[int64]string{}, moved: map[string]int64{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.git, err = gitcmd.Find(""); err != nil {
		return nil, err
	}
	if s.key, err = rsa.GenerateKey(rand.Reader, cmp.Or(c.KeyBits, 2048)); err != nil {
		return nil, fmt.Errorf("making the App's key: %w", err)
	}
	if s.dir, err = os.MkdirTemp("", "githubtest-"); err != nil {
		return nil, err
	}
	s.app = App{ID: 4711, Slug: "lintel", Secret: "secret of the tests", ClientID: "Iv1.lintel",
		ClientSecret: "client secret of the tests",
		PrivateKey:   pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.key)})}
	s.http = httptest.NewServer(s.handler())
	s.client = &http.Client{Timeout: hookTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	s.done.Go(s.deliverAll)
	return s, nil
}

// Close ends the server, its connections and undelivered webhooks, and removes its repositories.
func (s *Server) Close() {
	close(s.closed)
	s.http.CloseClientConnections()
	s.http.Close()
	s.done.Wait()
	_ = os.RemoveAll(s.dir)
}

// URL returns the address of the web site. As on GitHub Enterprise Server, the API is at /api/v3 below it, and git
// repositories are at /OWNER/NAME.git.
func (s *Server) URL() string { return s.http.URL }

// App returns the registered App with its credentials.
func (s *Server) App() App { return s.app }

// SetHook sets the address of webhooks. Before the first call, none are sent.
func (s *Server) SetHook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hookURL = url
}

// Violation is a request that GitHub would refuse, or that has no visible effect.
type Violation struct {
	Severity string // error: GitHub refuses it; warning: GitHub accepts it, but the effect is not the intended one
	Request  string // method and path
	Message  string
}

func (v Violation) String() string { return v.Severity + ": " + v.Request + ": " + v.Message }

// Violations lists the App's violations so far, oldest first.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Violation(nil), s.violations...)
}

// Request is one answered request to the API or of git.
type Request struct {
	Method string
	Path   string // without the API's prefix
	Status int    // 0 if a fault withheld the answer
}

// Requests lists the requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// WaitRequest waits until a request whose path has a suffix was answered.
func (s *Server) WaitRequest(ctx context.Context, suffix string) error {
	return s.wait(ctx, func() bool {
		return slices.ContainsFunc(s.requests, func(r Request) bool { return strings.HasSuffix(r.Path, suffix) })
	})
}

// violate records a violation. The caller does not hold the lock.
func (s *Server) violate(severity string, r *http.Request, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, Violation{severity, r.Method + " " + r.URL.Path, fmt.Sprintf(format, args...)})
	s.touch()
}

// touch wakes all callers of wait. The caller holds the lock.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// id returns a new number. The caller holds the lock.
func (s *Server) id() int64 { s.lastID++; return s.lastID }

// wait waits until ok returns true, or returns the context's error. It calls ok after every change, with the lock held.
func (s *Server) wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		met, changed := ok(), s.changed
		s.mu.Unlock()
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return fmt.Errorf("the server was closed")
		}
	}
}
