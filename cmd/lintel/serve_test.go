package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
)

// Each mistake in the configuration ends the start with one sentence that names what to set.
func TestServeConfiguration(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "the webhook secret"
	good := map[string]string{
		"LINTEL_LISTEN": "127.0.0.1:0", "LINTEL_DATA_DIR": dir, "LINTEL_GITHUB_APP_ID": "7",
		"LINTEL_GITHUB_PRIVATE_KEY_FILE": key, "LINTEL_GITHUB_WEBHOOK_SECRET": secret,
	}
	for _, c := range []struct{ name, value, says string }{
		{"LINTEL_DATA_DIR", "", "LINTEL_DATA_DIR is not set"},
		{"LINTEL_GITHUB_APP_ID", "", "LINTEL_GITHUB_APP_ID is not set"},
		{"LINTEL_GITHUB_APP_ID", "-7", "LINTEL_GITHUB_APP_ID is not a positive number"},
		{"LINTEL_GITHUB_APP_ID", "lintel", "LINTEL_GITHUB_APP_ID is not a positive number"},
		{"LINTEL_GITHUB_PRIVATE_KEY_FILE", "", "LINTEL_GITHUB_PRIVATE_KEY_FILE is not set"},
		{"LINTEL_GITHUB_PRIVATE_KEY_FILE", filepath.Join(dir, "none"), "LINTEL_GITHUB_PRIVATE_KEY_FILE cannot be read"},
		{"LINTEL_GITHUB_PRIVATE_KEY_FILE", key, "the GitHub App cannot be used"},
		{"LINTEL_GITHUB_WEBHOOK_SECRET", "", "LINTEL_GITHUB_WEBHOOK_SECRET is not set"},
		{"LINTEL_GITHUB_WEBHOOK_SECRET_FILE", filepath.Join(dir, "none"), "LINTEL_GITHUB_WEBHOOK_SECRET_FILE cannot be read"},
		{"LINTEL_GITHUB_WEBHOOK_SECRET_FILE", empty, "LINTEL_GITHUB_WEBHOOK_SECRET is not set"},
		{"LINTEL_GITHUB_URL", "github.com", "LINTEL_GITHUB_URL is not"},
		{"LINTEL_LISTEN", "8080", "LINTEL_LISTEN is not an address"},
		{"LINTEL_ACCOUNTS", "octo-org other", "LINTEL_ACCOUNTS must be names"},
		{"LINTEL_ACCOUNTS", "octo-org,", "LINTEL_ACCOUNTS must be names"},
		{"LINTEL_WORKERS", "0", "LINTEL_WORKERS must be from 1 to 64"},
		{"LINTEL_WORKERS", "many", "LINTEL_WORKERS is not a valid number"},
		{"LINTEL_SWEEP_INTERVAL", "5", "LINTEL_SWEEP_INTERVAL is not a valid duration"},
		{"LINTEL_SOURCES", filepath.Join(dir, "none"), "LINTEL_SOURCES cannot be used: the sources file: "},
		{"LINTEL_SOURCES", key, "key.pem:1: "},
		{"LINTEL_PAGE_ACCESS_TTL", "0s", "LINTEL_PAGE_ACCESS_TTL must be more than 0s"},
		{"LINTEL_PAGE_ACCESS_TTL", "2h", "LINTEL_PAGE_ACCESS_TTL must be more than 0s and at most 1h"},
		{"LINTEL_SWEEP_INTERVAL", "1ms", "LINTEL_SWEEP_INTERVAL must be at least 1s"},
		{"LINTEL_PUBLIC_URL", "http://lintel.example.com", "LINTEL_PUBLIC_URL is not usable: the address must begin with https"},
		{"LINTEL_PUBLIC_URL", "https://lintel.example.com/?a=b", "LINTEL_PUBLIC_URL is not usable: the address must not"},
		{"LINTEL_PAGE_MAX_AGE", "1m", "LINTEL_PAGE_MAX_AGE must be at least 1h"},
		{"LINTEL_PAGE_MAX_BYTES", "2 GB", "LINTEL_PAGE_MAX_BYTES is not a valid size (such as 512MiB)"},
		{"LINTEL_PAGE_MAX_BYTES", "1", "LINTEL_PAGE_MAX_BYTES must be from 64MiB to 1TiB"},
		{"LINTEL_MIRROR_MAX_BYTES", "5 GB", "LINTEL_MIRROR_MAX_BYTES is not a valid size (such as 512MiB)"},
		{"LINTEL_MIRROR_MAX_BYTES", "1MiB", "LINTEL_MIRROR_MAX_BYTES must be from 64MiB to 64TiB"},
		{"LINTEL_MIRROR_MAX_REPOSITORY", "1MiB", "LINTEL_MIRROR_MAX_REPOSITORY must be from 64MiB to 64TiB"},
		{"LINTEL_SOURCES_MAX_BYTES", "100TiB", "LINTEL_SOURCES_MAX_BYTES must be from 64MiB to 64TiB"},
		{"LINTEL_CACHE_MAX_BYTES", "0", "LINTEL_CACHE_MAX_BYTES must be from 64MiB to 64TiB"},
		{"LINTEL_PAGE_MAX_RESULT", "1KiB", "LINTEL_PAGE_MAX_RESULT must be from 64KiB to 256MiB"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			for _, name := range []string{"LINTEL_GITHUB_URL", "LINTEL_NATS_URL", "LINTEL_WORKERS", "LINTEL_SWEEP_INTERVAL"} {
				t.Setenv(name, "")
			}
			for name, value := range good {
				t.Setenv(name, value)
			}
			t.Setenv(c.name, c.value)
			if strings.HasSuffix(c.name, "_SECRET_FILE") {
				t.Setenv("LINTEL_GITHUB_WEBHOOK_SECRET", "")
			}
			cmd := newServeCommand()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			cmd.SetArgs(nil)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want one that says %q", err, c.says)
			}
			if text := err.Error() + out.String(); strings.Contains(text, secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("not one sentence, or with a secret: %s", text)
			}
		})
	}
}

// People sign in with the client of the settings, else with that of the registration, and not with half of one.
func TestServeClient(t *testing.T) {
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "secret"), filepath.Join(dir, "empty")
	if err := errors.Join(os.WriteFile(file, []byte("of the settings\n"), 0o600),
		os.WriteFile(empty, []byte("\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	stored := &github.Credentials{ClientID: "Iv1.stored", ClientSecret: "stored"}
	for _, c := range []struct {
		id, file     string
		stored       *github.Credentials
		want, secret string
		says         string
	}{
		{"", "", nil, "", "", ""},
		{"", "", &github.Credentials{}, "", "", ""}, // registered before there was a sign-in
		{"", "", stored, "Iv1.stored", "stored", ""},
		{"Iv1.set", file, nil, "Iv1.set", "of the settings", ""},
		{"Iv1.set", file, stored, "Iv1.set", "of the settings", ""},
		{"Iv1.set", "", stored, "", "", "LINTEL_GITHUB_CLIENT_SECRET_FILE is not set"},
		{"", file, stored, "", "", "LINTEL_GITHUB_CLIENT_ID is not set"},
		{"Iv1.set", empty, stored, "", "", "LINTEL_GITHUB_CLIENT_SECRET_FILE is empty"},
		{"Iv1.set", filepath.Join(dir, "none"), nil, "", "", "LINTEL_GITHUB_CLIENT_SECRET_FILE cannot be read"},
	} {
		o := serveOptions{clientID: c.id, clientSecretFile: c.file}
		id, secret, err := o.client(c.stored)
		if id != c.want || secret != c.secret || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %q, %q, %v", c, id, secret, err)
		}
	}
}

func TestParseAccounts(t *testing.T) {
	serves, err := parseAccounts(" Octo-Org,other-org , a")
	if err != nil {
		t.Fatal(err)
	}
	for login, want := range map[string]bool{"octo-org": true, "OTHER-ORG": true, "a": true, "b": false, "": false, "octo-org,a": false} {
		if got := serves(login); got != want {
			t.Errorf("%q: %t", login, got)
		}
	}
	if serves, err := parseAccounts(" "); serves != nil || err != nil {
		t.Errorf("without a list not all accounts are served: %v", err)
	}
}

func TestServeFlagWinsOverEnvironment(t *testing.T) {
	cmd := newServeCommand()
	if err := cmd.Flags().Parse([]string{"--workers", "5"}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"LINTEL_WORKERS": "9", "LINTEL_DATA_DIR": "/data"}
	if err := fromEnvironment(cmd.Flags(), func(name string) (string, bool) {
		v, ok := env[name]
		return v,
			ok
	}); err != nil {
		t.Fatal(err)
	}
	workers, _ := cmd.Flags().GetInt("workers")
	dir, _ := cmd.Flags().GetString("data-dir")
	if workers != 5 || dir != "/data" {
		t.Errorf("workers %d, data directory %q", workers, dir)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "1": 1, "1024": 1 << 10, "16MiB": 16 << 20, "3GiB": 3 << 30,
		"1TiB": 1 << 40} {
		var s, again size
		if err := errors.Join(s.Set(text), again.Set(s.String())); err != nil || s != want || again != want {
			t.Errorf("%s: %d, %v; %s", text, s, err, s.String())
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "2GB", "9000000TiB", "99999999999999999999"} {
		if s := size(7); s.Set(text) == nil || s != 7 {
			t.Errorf("%q is taken for %d", text, s)
		}
	}
}

func TestTidyCaches(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		files map[string]time.Duration // of 10 bytes each, before now
		limit int64
		left  []string
	}{
		"all are used": {map[string]time.Duration{"7/s/a": 1, "8/s/b": 2}, 20, []string{"7/s/a", "8/s/b"}},
		"one is not used any more": {map[string]time.Duration{"7/s/a": 5 * time.Hour, "8/s/b": time.Hour, "8/s/c": 4 * time.Hour},
			100, []string{"8/s/b"}},
		"they are too many": {map[string]time.Duration{"7/s/a": 2 * time.Hour, "7/s/b": 1 * time.Hour, "8/s/a": 90 * time.Minute},
			25, []string{"7/s/b", "8/s/a"}},
		"nothing fits": {map[string]time.Duration{"7/s/a": 1}, 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, ago := range c.files {
				p := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte("0123456789"), 0o600)); err != nil {
					t.Fatal(err)
				}
				for at := p; at != dir; at = filepath.Dir(at) {
					if err := os.Chtimes(at, now, now.Add(-ago)); err != nil {
						t.Fatal(err)
					}
				}
			}
			size, err := tidyCaches(dir, now.Add(-3*time.Hour), c.limit)
			if err != nil || size != int64(10*len(c.left)) {
				t.Errorf("%d bytes, %v", size, err)
			}
			var left, folders []string
			err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
				if name, _ := filepath.Rel(dir, p); !d.IsDir() {
					left = append(left, name)
				} else if len(name) == 1 && name != "." {
					folders = append(folders, name)
				}
				return err
			})
			if err != nil || !slices.Equal(left, c.left) {
				t.Errorf("left %q, want %q, %v", left, c.left, err)
			}
			if name == "one is not used any more" && !slices.Equal(folders, []string{"8"}) {
				t.Errorf("folders %q", folders)
			}
		})
	}
	if size, err := tidyCaches(t.TempDir()+"/none", now, 1); size != 0 || err != nil {
		t.Errorf("no folder: %d, %v", size, err)
	}
}
