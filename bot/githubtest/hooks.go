package githubtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// hookTimeout is how long GitHub waits for the response to a webhook
// (https://docs.github.com/en/webhooks/using-webhooks/handling-webhook-deliveries).
const hookTimeout = 10 * time.Second

// delivery is one attempt to deliver a webhook.
type delivery struct {
	id         int64
	guid       string
	event      string
	action     string
	payload    []byte
	at         time.Time
	redelivery bool
	status     int // 0 while unanswered; GitHub shows 502 for a host that cannot be reached
	signature  string
}

// HookFault is a fault for webhooks.
type HookFault struct {
	Event  string // "" matches every event
	Action string // "" matches every action
	Times  int    // number of webhooks with the fault; 0 means one, -1 all
	Do     HookTrouble
}

// HookTrouble is a fault of the delivery of a webhook.
type HookTrouble string

// The faults of webhooks.
const (
	Drop         HookTrouble = "drop"      // never arrives; GitHub's log shows it as failed
	Duplicate    HookTrouble = "duplicate" // arrives twice, with the same GUID
	BadSignature HookTrouble = "bad signature"
	NoSignature  HookTrouble = "no signature"
)

// TamperHook adds a fault for future webhooks.
func (s *Server) TamperHook(f HookFault) {
	f.Times = cmp.Or(f.Times, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tampers = append(s.tampers, &f)
}

// WaitHooks waits until every webhook was answered or failed.
func (s *Server) WaitHooks(ctx context.Context) error {
	return s.wait(ctx, func() bool { return s.pending == 0 })
}

// send signs an event about a repository, and queues its delivery.
func (s *Server) send(event string, r *repository, sender string, payload object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inst := s.installations[strings.ToLower(r.owner)]
	payload["repository"] = s.repoObject(r)
	payload["installation"] = object{"id": inst.id}
	payload["sender"] = userObject(sender)
	s.enqueue(event, payload)
}

// enqueue creates and queues a delivery. The caller holds the lock.
func (s *Server) enqueue(event string, payload object) {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // the payload contains only maps and scalars
	}
	action, _ := payload["action"].(string)
	s.line(&delivery{id: s.id(), guid: newGUID(), event: event, action: action, payload: data, at: s.now(),
		signature: s.sign(data)})
}

// line queues a delivery, with the fault that applies to it. The caller holds the lock.
func (s *Server) line(d *delivery) {
	if s.hookURL == "" {
		return
	}
	s.deliveries = append(s.deliveries, d)
	times := 1
	for _, f := range s.tampers {
		if f.Times == 0 || f.Event != "" && f.Event != d.event || f.Action != "" && f.Action != d.action {
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		switch f.Do {
		case Drop:
			d.status = http.StatusBadGateway
			s.touch()
			return
		case Duplicate:
			times = 2
		case BadSignature:
			d.signature = "sha256=" + strings.Repeat("0", 64)
		case NoSignature:
			d.signature = ""
		}
		break
	}
	for range times {
		select {
		case s.hooks <- d:
			s.pending++
		default:
			d.status = http.StatusBadGateway
		}
	}
	s.touch()
}

// sign returns the value of X-Hub-Signature-256.
func (s *Server) sign(payload []byte) string {
	mac := hmac.New(sha256.New, []byte(s.app.Secret))
	mac.Write(payload)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliverAll delivers webhooks one after the other until the server is closed.
func (s *Server) deliverAll() {
	for {
		select {
		case <-s.closed:
			return
		case d := <-s.hooks:
			status := s.deliver(d)
			s.mu.Lock()
			d.status = status
			s.pending--
			s.touch()
			s.mu.Unlock()
		}
	}
}

// deliver posts a webhook and returns the status for the log.
func (s *Server) deliver(d *delivery) int {
	s.mu.Lock()
	url := s.hookURL
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), hookTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.payload))
	if err != nil {
		return http.StatusBadGateway
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "GitHub-Hookshot/0000000")
	req.Header.Set("X-GitHub-Event", d.event)
	req.Header.Set("X-GitHub-Delivery", d.guid)
	req.Header.Set("X-GitHub-Hook-ID", "1")
	if d.signature != "" {
		req.Header.Set("X-Hub-Signature-256", d.signature)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return http.StatusBadGateway
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	return res.StatusCode
}

// newGUID returns a random UUID, the X-GitHub-Delivery of a webhook.
func newGUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
