package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
)

// rotateEvery is the time between readings of the files with credentials: at most three small files. File systems do
// not report all changes, and especially not those of a Kubernetes secret, which are changes of a symbolic link.
const rotateEvery = 10 * time.Second

// rotation applies credentials when their files change.
type rotation struct {
	files []*rotated
	again <-chan os.Signal // asks for a look at once
	after func(time.Duration) <-chan time.Time
	log   *slog.Logger
}

// rotated is one file with a credential.
type rotated struct {
	setting, name string
	set           func([]byte) (changed bool, err error) // applies it, or leaves the present one
	seen, judged  [sha256.Size]byte                      // the content at the last look, and that given to set last
	said          string                                 // the problem that was logged last
}

// rotation returns a rotation of the files that the settings name. The credentials of an App that was registered here
// have no files.
func (o *serveOptions) rotation(app *identity, intake *github.Webhook, log *slog.Logger) *rotation {
	r := &rotation{again: o.again, after: time.After, log: log}
	if o.keyFile != "" {
		r.add("LINTEL_GITHUB_PRIVATE_KEY_FILE", o.keyFile, app.client.SetPrivateKey)
	}
	if o.secretFile != "" {
		r.add("LINTEL_GITHUB_WEBHOOK_SECRET_FILE", o.secretFile, intake.SetSecret)
	}
	if o.clientSecretFile != "" && app.signIn != nil {
		r.add("LINTEL_GITHUB_CLIENT_SECRET_FILE", o.clientSecretFile,
			func(secret []byte) (bool, error) { return app.signIn.SetSecret(string(secret)) })
	}
	return r
}

func (r *rotation) add(setting, name string, set func([]byte) (bool, error)) {
	r.files = append(r.files, &rotated{setting: setting, name: name, set: set})
}

// run checks the files until ctx ends.
func (r *rotation) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.again:
			r.look(true)
		case <-r.after(rotateEvery):
			r.look(false)
		}
	}
}

// look reads each file. Since a secret may be only half written, new content counts when two readings in a row found
// it; at once if the operator asks for it.
func (r *rotation) look(asked bool) {
	for _, f := range r.files {
		problem := ""
		changed, err := f.look(asked)
		if err != nil {
			problem = err.Error()
		}
		switch {
		case changed:
			r.log.Info("a credential changed; the new one is in use", "setting", f.setting)
		case problem != "" && problem != f.said:
			r.log.Error("a credential cannot be used; the previous one stays in use", "setting", f.setting, "error", problem)
		}
		f.said = problem
	}
}

func (f *rotated) look(asked bool) (changed bool, err error) {
	data, err := readSecret(f.setting, f.name)
	if err != nil {
		return false, err
	}
	data = bytes.TrimSpace(data)
	sum := sha256.Sum256(data)
	settled := sum == f.seen
	f.seen = sum
	if sum == f.judged || !settled && !asked {
		return false, nil
	}
	changed, err = f.set(data)
	f.judged = sum
	return changed, err
}
