package github

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLink(t *testing.T) {
	for _, c := range []struct {
		public string
		listen net.TCPAddr
		want   string
	}{
		{"", net.TCPAddr{IP: net.IPv6zero, Port: 8080}, "http://localhost:8080"},
		{"", net.TCPAddr{IP: net.IPv4zero, Port: 80}, "http://localhost:80"},
		{"", net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "http://127.0.0.1:8080"},
		{"", net.TCPAddr{IP: net.IPv6loopback, Port: 8080}, "http://[::1]:8080"},
		{"https://lintel.example.com", net.TCPAddr{IP: net.IPv6zero, Port: 8080}, "https://lintel.example.com"},
	} {
		s, err := NewSetup(SetupConfig{DataDir: t.TempDir(), PublicURL: c.public})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Link(&c.listen); got != c.want+"/setup?token="+s.token || len(s.token) < 26 {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestLoadCredentials(t *testing.T) {
	const good = `{"github_url":"https://github.com","app_id":7,"slug":"lintel","private_key":"k","webhook_secret":"s"}`
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"valid":     {good, nil},
		"empty":     {"", ErrDamaged},
		"truncated": {good[:40], ErrDamaged},
		"no secret": {strings.Replace(good, `"s"`, `""`, 1), ErrDamaged},
		"no key":    {strings.Replace(good, `"k"`, `""`, 1), ErrDamaged},
		"no id":     {strings.Replace(good, "7", "-7", 1), ErrDamaged},
		"no GitHub": {strings.Replace(good, "https://github.com", "", 1), ErrDamaged},
		"too large": {good + strings.Repeat(" ", maxCredentials), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c, err := LoadCredentials(dir); c != nil || err != nil {
				t.Fatalf("nothing stored: %v, %v", c, err)
			}
			if err := writeDurably(dir, fileName, []byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if got, err := LoadCredentials(dir); !errors.Is(err, c.want) || (got == nil) != (err != nil) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, folderName, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCredentials(dir); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a folder in place of the file: %v", err)
	}
}

// An accepted address cannot be read as more than an address in a policy or a page.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"https://lintel.example.com", "http://[::1]:8080/", "https://a/b/../c", "https://a;b",
		"HTTPS://A", "https://a/%zz", "//a", "https://a/?", "https://ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		address, err := ParseAddress(raw)
		if err != nil {
			return
		}
		if again, err := ParseAddress(address); err != nil || again != address {
			t.Errorf("%q gives %q, which gives %q, %v", raw, address, again, err)
		}
		if o := schemeAndHost(address); strings.ContainsAny(o, " ;,'\"*?#@<>\\\t\r\n") || !strings.HasPrefix(o, "http") ||
			!strings.HasPrefix(address, o) {
			t.Errorf("%q has the origin %q", address, o)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"github_url":"https://github.com","app_id":7,"slug":"lintel","private_key":"k","webhook_secret":"s"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCredentials(data)
		if (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if c != nil && (c.AppID <= 0 || c.PrivateKey == "" || c.WebhookSecret == "" || c.GitHubURL == "") {
			t.Errorf("incomplete: %+v", c)
		}
	})
}

func TestConfidential(t *testing.T) {
	for address, want := range map[string]bool{"https://lintel.example.com": true, "http://localhost:8080": true,
		"http://127.0.0.1:8080/lintel": true, "http://[::1]:80": true, "http://lintel.example.com": false,
		"http://localhost.example.com": false, "http://10.0.0.1": false} {
		if Confidential(address) != want {
			t.Errorf("%s: want %t", address, want)
		}
	}
}
