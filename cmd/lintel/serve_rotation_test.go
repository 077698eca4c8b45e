package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
)

// New content of a file counts at the second look that sees it, or at once on request. What cannot be used leaves the
// one before in force and is reported once, without its content.
func TestRotation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	remove := func() error { return os.Remove(file) }
	nothing := func() error { return nil }
	inForce := "one"
	set := func(data []byte) (bool, error) {
		if len(data) == 0 || string(data) == "broken" {
			return false, errors.New("not a credential")
		}
		changed := inForce != string(data)
		inForce = string(data)
		return changed, nil
	}
	var said bytes.Buffer
	r := &rotation{log: slog.New(slog.NewTextHandler(&said, nil))}
	r.add("LINTEL_X_FILE", file, set)
	for i, step := range []struct {
		change func() error
		asked  bool
		want   string
		says   string // empty: nothing
	}{
		{write("one\n"), false, "one", ""},
		{nothing, false, "one", ""},
		{write("tw"), false, "one", ""}, // half of it
		{write("two\n"), false, "one", ""},
		{nothing, false, "two", "the new one is in use"},
		{nothing, false, "two", ""},
		{remove, false, "two", "cannot be read"},
		{nothing, false, "two", ""},
		{nothing, true, "two", ""},
		{write("broken"), false, "two", ""},
		{nothing, false, "two", "not a credential"},
		{nothing, false, "two", ""},
		{write(""), false, "two", ""},
		{nothing, false, "two", "not a credential"},
		{write("two"), false, "two", ""},
		{nothing, false, "two", ""},
		{write(strings.Repeat("x", maxSecretFile+1)), false, "two", "too large"},
		{write("three"), true, "three", "the new one is in use"},
		{remove, false, "three", "cannot be read"},
		{write("three"), false, "three", ""},
		{remove, false, "three", "cannot be read"}, // again, as it was mended meanwhile
	} {
		said.Reset()
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		r.look(step.asked)
		text := said.String()
		if inForce != step.want || (text == "") != (step.says == "") || !strings.Contains(text, step.says) {
			t.Errorf("step %d: %q in force, log %q", i, inForce, text)
		}
		if strings.Contains(text, "broken") || strings.Count(text, "\n") > 1 {
			t.Errorf("step %d: %q", i, text)
		}
	}
}

// A signal is looked at without waiting, the clock without a signal, and both end with the context.
func TestRotationRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begun, again, looked := time.Now(), make(chan os.Signal), make(chan struct{})
		r := &rotation{again: again, log: slog.New(slog.DiscardHandler)}
		r.add("LINTEL_X_FILE", file, func([]byte) (bool, error) { looked <- struct{}{}; return true, nil })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.run(ctx); close(ended) }()
		again <- os.Interrupt
		<-looked
		if time.Since(begun) > 0 {
			t.Errorf("the signal waits %s", time.Since(begun))
		}
		if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
			t.Fatal(err)
		}
		<-looked
		if time.Since(begun) != 2*rotateEvery {
			t.Errorf("a stable content is applied after %s", time.Since(begun))
		}
		cancel()
		<-ended
	})
}

// All files of the settings are looked at, and reach what uses them.
func TestRotationOfServer(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	newKey := func() []byte {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	}
	o := serveOptions{githubURL: "https://github.com", appID: "7", clientID: "Iv1.a",
		keyFile: write("key", newKey()), secretFile: write("secret", []byte("one\n")),
		clientSecretFile: write("client", []byte("one"))}
	app, err := o.app()
	if err != nil {
		t.Fatal(err)
	}
	intake, err := github.NewWebhook(github.WebhookConfig{Secret: app.secret})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	r := o.rotation(app, intake, slog.New(slog.NewTextHandler(&said, nil)))
	r.look(true)
	if said.Len() > 0 {
		t.Fatalf("nothing changed: %s", said.String())
	}
	before, key := app.signIn.Key("x"), newKey()
	write("key", key)
	write("secret", []byte("two\n"))
	write("client", []byte("two\n"))
	r.look(true)
	if got := strings.Count(said.String(), "the new one is in use"); got != 3 || strings.Contains(said.String(), "two") {
		t.Errorf("log %s", said.String())
	}
	if app.signIn.Key("x") == before {
		t.Error("the client secret is the old one")
	}
	if changed, err := app.client.SetPrivateKey(key); changed || err != nil {
		t.Errorf("the key is the old one: %v", err)
	}
	if changed, err := intake.SetSecret([]byte("two")); changed || err != nil {
		t.Errorf("the webhook secret is the old one: %v", err)
	}
	said.Reset()
	write("key", key[:len(key)/2])
	r.look(true)
	if changed, err := app.client.SetPrivateKey(key); changed || err != nil ||
		!strings.Contains(said.String(), "not an RSA key") || strings.Contains(said.String(), "BEGIN") {
		t.Errorf("after half a key: %v, log %s", err, said.String())
	}
}
