package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

// client is the App's client id and secret, with which people sign in: those of the settings, else those that GitHub
// handed out when the App was registered here; both empty where there are none.
func (o *serveOptions) client(stored *github.Credentials) (id, secret string, err error) {
	switch {
	case o.clientID != "" && o.clientSecretFile == "":
		return "", "", errors.New("LINTEL_GITHUB_CLIENT_SECRET_FILE is not set: name the file with the App's client secret")
	case o.clientID == "" && o.clientSecretFile != "":
		return "", "", errors.New("LINTEL_GITHUB_CLIENT_ID is not set: it is on the App's settings page")
	case o.clientID != "":
		data, err := readSecret("LINTEL_GITHUB_CLIENT_SECRET_FILE", o.clientSecretFile)
		if err != nil {
			return "", "", err
		}
		if secret = string(bytes.TrimSpace(data)); secret == "" {
			return "", "", errors.New("the file in LINTEL_GITHUB_CLIENT_SECRET_FILE is empty")
		}
		return strings.TrimSpace(o.clientID), secret, nil
	case stored != nil:
		return stored.ClientID, stored.ClientSecret, nil
	}
	return "", "", nil
}

// signIn is how people sign in as users of the App, nil without a client id.
func (o *serveOptions) signIn(stored *github.Credentials) (*github.SignIn, error) {
	id, secret, err := o.client(stored)
	if err != nil || id == "" {
		return nil, err
	}
	s, err := github.NewSignIn(github.SignInConfig{URL: o.githubURL, ClientID: id, ClientSecret: secret})
	if err != nil {
		return nil, fmt.Errorf("LINTEL_GITHUB_CLIENT_ID or LINTEL_GITHUB_CLIENT_SECRET_FILE cannot be used: %w", err)
	}
	return s, nil
}

// access says who may see a page.
func (o *serveOptions) access(ctx context.Context, app *identity, jobs *store.Queue,
	log *slog.Logger) (*results.Access, error) {
	c := results.AccessConfig{Hub: app.client, PublicURL: o.publicURL, TTL: o.pageAccessTTL, Log: log}
	if app.signIn != nil && o.publicURL != "" {
		sessions, used, err := jobs.Sessions(ctx)
		if err != nil {
			return nil, err
		}
		c.SignIn, c.Sessions, c.Used = app.signIn, sessions, used
	}
	return results.NewAccess(c)
}
