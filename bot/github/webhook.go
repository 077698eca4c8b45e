package github

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// maxBody is GitHub's limit for payloads
	// (https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap).
	maxBody = 25 << 20
	// smallBody is a size that few deliveries exceed. maxBodies and maxLarge limit the concurrent bodies of unknown
	// senders, and thus their memory; further ones wait. Large bodies that are sent slowly delay only other large
	// bodies.
	smallBody = 256 << 10
	maxBodies = 256
	maxLarge  = 8
	// bodyTimeout is how long GitHub waits for an answer.
	bodyTimeout = 10 * time.Second
	// publishTimeout is shorter than the ten seconds that GitHub waits, so that GitHub receives the answer after a
	// failure.
	publishTimeout = 8 * time.Second
	// retiredGrace is how long a secret is accepted after SetSecret replaced it, because the file and GitHub cannot be
	// changed at the same moment. It is short, since a stolen secret works that long. GitHub is asked again about what
	// a delivery claims.
	retiredGrace = 5 * time.Minute
	// goneTimeout limits the removal of results. A delivery is not refused because the removal fails.
	goneTimeout = 2 * time.Second
)

// Queue stores the jobs and facts of events; *store.Queue is one.
type Queue interface {
	Publish(ctx context.Context, key store.Key, m store.Message, id string) error
	// AddPush stores who pushed to a pull request, or a commit to any branch.
	AddPush(ctx context.Context, p store.Push) error
	// AskDrafts stores that drafts of exceptions are wanted for a commit.
	AskDrafts(ctx context.Context, repository int64, head string) error
	// Drop removes jobs; repository zero: all of the installation.
	Drop(ctx context.Context, installation, repository int64) error
}

// WebhookConfig is what a handler needs. Secret, Queue, and Unserved with Serves are required.
type WebhookConfig struct {
	Secret []byte // the App's webhook secret
	Queue  Queue
	// Gone removes the results of repositories that were removed from the App or deleted; repository zero: all of the
	// installation. Its error is logged, and the sweep removes what is left.
	Gone func(ctx context.Context, installation, repository int64) error
	// Revoked ends the sessions of a person.
	Revoked func(ctx context.Context, account int64) error
	// Serves reports whether the App serves an account, by its login. For other accounts, Unserved is called, jobs and
	// facts are ignored, and only removals are done. Nil: every account is served.
	Serves   func(account string) bool
	Unserved func()
	Log      *slog.Logger // default: discard
}

// Webhook answers webhook deliveries:
//
//	202  the jobs of the event are stored, or its removals are done, or the App does not serve the account
//	204  a valid delivery that needs no action
//	400  the payload cannot be parsed, or headers are missing
//	401  no signature, or a wrong one
//	405  not a POST
//	413  larger than GitHub ever sends
//	503  the queue did not store the jobs; GitHub records a failed delivery, which the sweep finds
//
// Neither bodies nor secrets are ever logged.
type Webhook struct {
	config WebhookConfig
	bodies chan struct{}
	large  chan struct{}

	mu      sync.Mutex
	secret  []byte
	retired []byte    // the secret before
	until   time.Time // retired is accepted until then
}

// ErrNoSecret means that no webhook secret is configured, so that any delivery would be accepted.
var ErrNoSecret = errors.New("the webhook secret is empty")

// NewWebhook makes a handler. It returns ErrNoSecret for an empty secret.
func NewWebhook(c WebhookConfig) (*Webhook, error) {
	if len(c.Secret) == 0 {
		return nil, ErrNoSecret
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Webhook{config: c, secret: c.Secret, bodies: make(chan struct{}, maxBodies),
		large: make(chan struct{}, maxLarge)}, nil
}

// SetSecret replaces the secret, and reports whether it changed. The secret before is accepted for five more minutes,
// earlier ones are not. After an error, the present secret remains in use.
func (h *Webhook) SetSecret(secret []byte) (changed bool, err error) {
	if len(secret) == 0 {
		return false, ErrNoSecret
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if hmac.Equal(h.secret, secret) {
		return false, nil
	}
	h.secret, h.retired, h.until = bytes.Clone(secret), h.secret, time.Now().Add(retiredGrace)
	return true, nil
}

// secrets returns the accepted secrets.
func (h *Webhook) secrets() [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retired != nil && time.Now().Before(h.until) {
		return [][]byte{h.secret, h.retired}
	}
	h.retired = nil
	return [][]byte{h.secret}
}

// ServeHTTP implements http.Handler.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	if r.ContentLength > maxBody {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	signature := r.Header.Get("X-Hub-Signature-256")
	if !strings.HasPrefix(signature, "sha256=") || len(signature) != len("sha256=")+hex.EncodedLen(sha256.Size) {
		// This comes before the body is read, so that a sender without a signature uses no memory.
		h.config.Log.Warn("webhook refused", "reason", "no signature")
		http.Error(w, "no signature", http.StatusUnauthorized)
		return
	}
	if !waitForPlace(r, h.bodies) {
		return
	}
	defer func() { <-h.bodies }()
	// Not every ResponseWriter supports deadlines. The server's own deadline, which is longer, then applies.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	whole := http.MaxBytesReader(w, r.Body, maxBody)
	body, err := io.ReadAll(io.LimitReader(whole, smallBody))
	if err == nil && len(body) == smallBody {
		if !waitForPlace(r, h.large) {
			return
		}
		defer func() { <-h.large }()
		var rest []byte
		rest, err = io.ReadAll(whole)
		body = append(body, rest...)
	}
	_ = connection.SetReadDeadline(time.Time{}) // otherwise, the deadline would also end the request
	switch {
	case forge.Is[*http.MaxBytesError](err):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body is incomplete", http.StatusBadRequest)
		return
	}
	if !h.signed(body, signature) {
		h.config.Log.Warn("webhook refused", "reason", "wrong signature")
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	h.accept(w, r, body)
}

// waitForPlace waits for a place. It returns false if the sender disconnected.
func waitForPlace(r *http.Request, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

// signed checks the signature of the unparsed body
// (https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries).
func (h *Webhook) signed(body []byte, signature string) bool {
	return slices.ContainsFunc(h.secrets(), func(secret []byte) bool {
		return gh.ValidateSignature(signature, body, secret) == nil
	})
}

// deliveryID matches GitHub's delivery ids (UUIDs). Other ids are refused, because ids become part of log lines and
// publications.
var deliveryID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// accept handles a delivery with a valid signature.
func (h *Webhook) accept(w http.ResponseWriter, r *http.Request, body []byte) {
	event, delivery := r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery")
	if event == "" || !deliveryID.MatchString(delivery) {
		http.Error(w, "X-GitHub-Event or X-GitHub-Delivery is missing or malformed", http.StatusBadRequest)
		return
	}
	payload, ok := payloadOf(r.Header.Get("Content-Type"), body)
	if !ok {
		http.Error(w, "neither application/json nor a form with a payload", http.StatusBadRequest)
		return
	}
	work, err := WorkOf(event, payload)
	if err != nil {
		h.config.Log.Warn("webhook not recognized", "delivery", delivery, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(work.Jobs) == 0 && len(work.Drop) == 0 && work.Revoked == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), publishTimeout)
	defer cancel()
	log := h.config.Log.With("delivery", delivery, "event", event)
	if h.config.Serves != nil && work.Revoked == 0 && !h.config.Serves(work.Account) {
		log.Info("webhook dropped: LINTEL_ACCOUNTS does not name the account", "account", work.Account)
		h.config.Unserved()
		work = work.ending()
	}
	if err := h.store(ctx, work, delivery, log); err != nil {
		log.Error("webhook not stored", "error", err)
		http.Error(w, "the job queue does not accept the job", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// store stores the facts and jobs of an event. Facts come first, because a job must not start without them.
func (h *Webhook) store(ctx context.Context, work Work, delivery string, log *slog.Logger) error {
	if work.Push != nil {
		if err := h.config.Queue.AddPush(ctx, *work.Push); err != nil {
			return err
		}
	}
	if work.Drafts {
		if err := h.config.Queue.AskDrafts(ctx, work.Jobs[0].Key.Repository, work.Jobs[0].Message.Head); err != nil {
			return err
		}
	}
	if work.Revoked != 0 && h.config.Revoked != nil {
		if err := h.config.Revoked(ctx, work.Revoked); err != nil {
			return err
		}
		log.Info("sessions ended", "account_id", work.Revoked)
	}
	for _, scope := range work.Drop {
		if err := h.config.Queue.Drop(ctx, scope.Installation, scope.Repository); err != nil {
			return err
		}
		log.Info("jobs dropped", "installation", scope.Installation, "repository_id", scope.Repository)
	}
	for _, job := range work.Jobs {
		job.Message.Delivery, job.Message.At = delivery, time.Now().UTC()
		if err := h.config.Queue.Publish(ctx, job.Key, job.Message, delivery); err != nil {
			return err
		}
		log.Info("webhook accepted", "action", job.Message.Event, "repository", job.Message.Owner+"/"+job.Message.Name,
			"job", job.Key.String())
	}
	if work.Gone && h.config.Gone != nil {
		h.remove(ctx, work.Drop, log)
	}
	return nil
}

// remove removes results. The sweep removes what is left after an error.
func (h *Webhook) remove(ctx context.Context, gone []Scope, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	for _, scope := range gone {
		if err := h.config.Gone(ctx, scope.Installation, scope.Repository); err != nil {
			log.Warn("results not removed yet", "installation", scope.Installation, "repository_id", scope.Repository,
				"error", err)
			return
		}
	}
}

// payloadOf returns the JSON of a body in either of GitHub's two content types
// (https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks).
func payloadOf(contentType string, body []byte) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, false
	}
	switch kind {
	case "application/json":
		return body, true
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil || !form.Has("payload") {
			return nil, false
		}
		return []byte(form.Get("payload")), true
	}
	return nil, false
}
