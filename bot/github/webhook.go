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
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// maxBody is GitHub's own limit for payloads
	// (https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap).
	maxBody = 25 << 20
	// smallBody is what nearly all deliveries fit in. maxBodies and maxLarge bound the memory that bodies of unknown
	// senders can take: those above wait. Who sends large ones slowly holds up large ones only.
	smallBody = 256 << 10
	maxBodies = 256
	maxLarge  = 8
	// bodyTimeout is when GitHub gives up.
	bodyTimeout = 10 * time.Second
	// publishTimeout leaves GitHub, which waits ten seconds, time to hear of the failure.
	publishTimeout = 8 * time.Second
	// retiredGrace is how long a secret counts that SetSecret replaced: file and GitHub cannot be changed at one moment.
	// It is short since whoever took the old one can go on for as long; what a delivery says is asked of GitHub again.
	retiredGrace = 5 * time.Minute
	// goneTimeout bounds the removal of results, which is no reason to refuse a delivery.
	goneTimeout = 2 * time.Second
)

// Queue keeps what events ask for; *store.Queue does.
type Queue interface {
	Publish(ctx context.Context, key store.Key, m store.Message, id string) error
	// remembers who pushed to a pull request, and who pushed a commit to any branch
	AddPusher(ctx context.Context, repository int64, number int, login string) error
	AddTip(ctx context.Context, repository int64, commit, login string) error
	// remembers that drafts are wanted for a commit
	AskDrafts(ctx context.Context, repository int64, head string) error
	// removes jobs; repository zero: all of the installation
	Drop(ctx context.Context, installation, repository int64) error
}

// WebhookConfig is what a handler needs. Secret, Queue, and Unserved with Serves are required.
type WebhookConfig struct {
	Secret []byte // the App's webhook secret
	Queue  Queue
	// removes results of what the App was taken from, or of what was deleted; repository zero: all of the installation. Its
	// error is logged: what is left is found by the sweep.
	Gone func(ctx context.Context, installation, repository int64) error
	// ends the sessions of a person
	Revoked func(ctx context.Context, account int64) error
	// reports whether the App works for an account, by its login. What others ask for is dropped, and Unserved is called;
	// what they end, ends. Nil: for every account
	Serves   func(account string) bool
	Unserved func()
	Log      *slog.Logger     // default: discard
	Now      func() time.Time // default: time.Now
}

// Webhook answers webhook deliveries:
//
//	202  the jobs of the event are stored, or what it ends has ended, or the App does not work for the account
//	204  a valid delivery that asks for nothing
//	400  unparsable, or headers are missing
//	401  no signature, or a wrong one
//	405  not a POST
//	413  larger than GitHub ever sends
//	503  the queue did not take the jobs; GitHub records a failed delivery, which the sweep finds
//
// Neither bodies nor secrets are ever logged.
type Webhook struct {
	config WebhookConfig
	bodies chan struct{}
	large  chan struct{}

	mu      sync.Mutex
	secret  []byte
	retired []byte    // the one before
	until   time.Time // when retired ends
}

// ErrNoSecret means that the handler would have to trust everyone.
var ErrNoSecret = errors.New("the webhook secret is empty")

// NewWebhook makes a handler.
func NewWebhook(c WebhookConfig) (*Webhook, error) {
	if len(c.Secret) == 0 {
		return nil, ErrNoSecret
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Webhook{config: c, secret: c.Secret, bodies: make(chan struct{}, maxBodies),
		large: make(chan struct{}, maxLarge)}, nil
}

// SetSecret replaces the secret, and reports whether it is another one than before. The one before counts for five
// minutes more, any earlier one no longer. An error leaves the present one in force.
func (h *Webhook) SetSecret(secret []byte) (changed bool, err error) {
	if len(secret) == 0 {
		return false, ErrNoSecret
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if hmac.Equal(h.secret, secret) {
		return false, nil
	}
	h.secret, h.retired, h.until = bytes.Clone(secret), h.secret, h.config.Now().Add(retiredGrace)
	return true, nil
}

// secrets are those in force.
func (h *Webhook) secrets() [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retired != nil && h.config.Now().Before(h.until) {
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
	signature, ok := parseSignature(r.Header.Get("X-Hub-Signature-256"))
	if !ok {
		// Before the body is read: who cannot sign gets no memory.
		h.config.Log.Warn("webhook refused", "reason", "no signature")
		http.Error(w, "no signature", http.StatusUnauthorized)
		return
	}
	if !waitForPlace(r, h.bodies) {
		return
	}
	defer func() { <-h.bodies }()
	// Not every ResponseWriter has deadlines; the server's own is longer.
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
	_ = connection.SetReadDeadline(time.Time{}) // or the end of it would end the request
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
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

// waitForPlace waits for a place; false if the sender is gone.
func waitForPlace(r *http.Request, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

// parseSignature reads "sha256=<hex>".
func parseSignature(header string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return nil, false
	}
	mac, err := hex.DecodeString(digits)
	return mac, err == nil && len(mac) == sha256.Size
}

// signed checks the body as it was sent, before anything parses it
// (https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries).
func (h *Webhook) signed(body, signature []byte) bool {
	for _, secret := range h.secrets() {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), signature) {
			return true
		}
	}
	return false
}

// deliveryID allows what GitHub sends (a UUID) and keeps log lines and publication ids tame.
var deliveryID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// accept handles a delivery whose sender is known to have the secret.
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

// store keeps what the event asks for. Who pushed and what is wanted comes first: a job must not be worked on without.
func (h *Webhook) store(ctx context.Context, work Work, delivery string, log *slog.Logger) error {
	if p := work.Pusher; p != nil {
		if err := h.config.Queue.AddPusher(ctx, p.Repository, p.Number, p.Login); err != nil {
			return err
		}
	}
	if tip := work.Tip; tip != nil {
		if err := h.config.Queue.AddTip(ctx, tip.Repository, tip.Commit, tip.Login); err != nil {
			return err
		}
	}
	if d := work.Drafts; d != nil {
		if err := h.config.Queue.AskDrafts(ctx, d.Repository, d.Head); err != nil {
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
		job.Message.Delivery, job.Message.At = delivery, h.config.Now().UTC()
		if err := h.config.Queue.Publish(ctx, job.Key, job.Message, delivery); err != nil {
			return err
		}
		log.Info("webhook accepted", "action", job.Message.Event, "repository", job.Message.Owner+"/"+job.Message.Name,
			"job", job.Key.String())
	}
	h.remove(ctx, work.Gone, log)
	return nil
}

// remove has results removed. What is left, the sweep finds.
func (h *Webhook) remove(ctx context.Context, gone []Scope, log *slog.Logger) {
	if h.config.Gone == nil || len(gone) == 0 {
		return
	}
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

// payloadOf takes the JSON out of the two content types GitHub offers
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
