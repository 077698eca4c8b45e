package fetch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// registry is an OCI registry with token authentication.
type registry struct {
	mu        sync.Mutex
	tags      map[string][]string          // by repository
	manifests map[string]map[string][]byte // by repository and reference
	blobs     map[string][]byte
	blobHost  string // blobs are redirected there
	realm     string // the server that issues tokens; empty: no token is needed
	user      string // "user:password" that tokens are given for; empty: everybody
	page      int    // of tags; 0: all
	config    string // the media type of manifests' configurations
}

func newRegistry() *registry {
	return &registry{tags: map[string][]string{}, manifests: map[string]map[string][]byte{}, blobs: map[string][]byte{},
		config: "application/vnd.cncf.helm.config.v1+json"}
}

// push adds a chart and returns the digest of its manifest.
func (r *registry) push(t *testing.T, name, tag string, data []byte) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	config := []byte(`{}`)
	r.blobs[sum(data)], r.blobs[sum(config)] = data, config
	m := map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": r.config, "digest": sum(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
			"digest": sum(data), "size": len(data)}}}
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if r.manifests[name] == nil {
		r.manifests[name] = map[string][]byte{}
	}
	r.manifests[name][tag], r.manifests[name][sum(body)] = body, body
	if !slices.Contains(r.tags[name], tag) {
		r.tags[name] = append(r.tags[name], tag)
	}
	return sum(body)
}

func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path == "/token" {
		r.token(w, q)
		return
	}
	if r.realm != "" && q.Header.Get("Authorization") != "Bearer good" {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s",service="registry"`, r.realm))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	path := strings.TrimPrefix(q.URL.Path, "/v2/")
	if name, ok := strings.CutSuffix(path, "/tags/list"); ok {
		r.list(w, q, name)
		return
	}
	if name, reference, ok := strings.Cut(path, "/manifests/"); ok {
		data, ok := r.manifests[name][reference]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", sum(data))
		_, _ = w.Write(data)
		return
	}
	if _, digest, ok := strings.Cut(path, "/blobs/"); ok {
		if r.blobHost != "" {
			http.Redirect(w, q, r.blobHost+"/"+digest, http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write(r.blobs[digest])
		return
	}
	http.NotFound(w, q)
}

func (r *registry) token(w http.ResponseWriter, q *http.Request) {
	if r.user != "" && q.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(r.user)) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = w.Write([]byte(`{"token":"good"}`))
}

func (r *registry) list(w http.ResponseWriter, q *http.Request, name string) {
	tags := r.tags[name]
	if r.page > 0 {
		from := slices.Index(tags, q.URL.Query().Get("last")) + 1
		tags = tags[from:]
		if len(tags) > r.page {
			tags = tags[:r.page]
			w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%s>; rel="next"`, name, tags[len(tags)-1]))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": tags})
}

func ociWant(ref string) remote.Want {
	return remote.Want{Kind: remote.Chart, URL: "oci://registry.example.com/charts/app", Ref: ref}
}

func TestRegistry(t *testing.T) {
	n := newInternet(t)
	r := newRegistry()
	r.realm, r.page = "https://auth.example.com/token", 2
	digest := r.push(t, "charts/app", "1.2.3", packed(t, "app", "1.2.3", "one"))
	r.push(t, "charts/app", "1.10.0", packed(t, "app", "1.10.0", "ten"))
	r.push(t, "charts/app", "1.11.0_build.5", packed(t, "app", "1.11.0+build.5", "eleven"))
	r.push(t, "charts/app", "v1.12.0", packed(t, "app", "1.12.0", "twelve"))
	r.push(t, "charts/app", "2.0.0-rc.1", packed(t, "app", "2.0.0-rc.1", "next"))
	r.push(t, "charts/app", "latest", packed(t, "app", "3.0.0", "latest"))
	n.serve("registry.example.com", r)
	n.serve("auth.example.com", r)
	f := n.fetcher("")
	for _, c := range []struct {
		ref           string
		tag           bool
		version, says string
	}{
		{"1.2.3", false, "1.2.3", "one"}, {"1.2.3", true, "1.2.3", "one"}, {digest, false, "1.2.3", "one"},
		{"1.2.3@" + digest, false, "1.2.3", "one"}, {"", false, "1.11.0+build.5", "eleven"},
		{"~1.10", false, "1.10.0", "ten"}, {"1.11.0+build.5", false, "1.11.0+build.5", "eleven"},
		{"v1.12.0", false, "v1.12.0", "twelve"}, {">=2.0.0-0", false, "2.0.0-rc.1", "next"},
		{"latest", true, "latest", "latest"}, {"latest", false, "latest", "latest"}, {"1.2", false, "1.2.3", "one"},
	} {
		w := ociWant(c.ref)
		w.Tag = c.tag
		e := had(t, f, w)
		if got := contentOf(t, f, e, "templates/cm.yaml"); got != c.says || e.Revision != c.version || e.Changed != "" {
			t.Errorf("%q: %q, %+v", c.ref, got, e)
		}
	}
	named := ociWant("1.2.3")
	named.URL, named.Name = "oci://registry.example.com/charts/", "app"
	had(t, f, named)
	named.Name = "../app"
	refused(t, f, named, true, "name of a chart")
	refused(t, f, ociWant("9.9.9"), true, "404")
	refused(t, f, ociWant("^9"), true, "no version")
	refused(t, f, ociWant("sha256:"+strings.Repeat("0", 64)), true, "404")
	refused(t, f, ociWant("sha256:short"), true, "neither a tag nor a digest")
	n.asked()
	for _, ref := range []string{"1.2.3", "", digest, "~1.10"} {
		had(t, f, ociWant(ref))
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("what is known was asked for: %v", got)
	}
	n.pass(time.Hour)
	for _, ref := range []string{"1.2.3", digest} {
		had(t, f, ociWant(ref))
	}
	if got := n.asked(); len(got) > 0 {
		t.Errorf("what does not change was asked for: %v", got)
	}
	r.push(t, "charts/app", "1.12.0", packed(t, "app", "1.12.0", "twelve"))
	if e := had(t, f, ociWant("1.x")); e.Revision != "1.12.0" {
		t.Errorf("got %+v", e)
	}
}

// Flux reads tags as versions, with or without "v" in front, after it has filtered them.
func TestRegistryTagsOfFlux(t *testing.T) {
	n := newInternet(t)
	r := newRegistry()
	for _, tag := range []string{"1.2.3", "v1.10.0", "1.11.0-rc.1", "1.12.0_build", "1.99", "2.0.0-team-a", "2.0.0-team-b",
		"latest"} {
		r.push(t, "charts/app", tag, packed(t, "app", "1.0.0", tag))
	}
	n.serve("registry.example.com", r)
	f := n.fetcher("")
	for _, c := range []struct{ versions, filter, tag string }{
		{"1.x", "", "v1.10.0"}, {"*", "", "v1.10.0"}, {"1.10.0", "", "v1.10.0"}, {"1.x", "^[0-9]", "1.2.3"},
		{">=1.0.0-0", "-rc", "1.11.0-rc.1"}, {">=1.0.0-0", "-team-a$", "2.0.0-team-a"},
	} {
		w := ociWant(remote.Versions + c.versions)
		w.Filter = c.filter
		if e := had(t, f, w); contentOf(t, f, e, "templates/cm.yaml") != c.tag || e.Revision != c.tag {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	none, wrong := ociWant(remote.Versions+"1.x"), ociWant(remote.Versions+"1.x")
	none.Filter, wrong.Filter = "-rc", "("
	refused(t, f, none, true, "no tag is a version")
	refused(t, f, wrong, true, "not a regular expression")
}

func TestRegistryIsNoChart(t *testing.T) {
	n := newInternet(t)
	r := newRegistry()
	r.config = "application/vnd.oci.image.config.v1+json"
	r.push(t, "charts/app", "1.2.3", packed(t, "app", "1.2.3", "one"))
	n.serve("registry.example.com", r)
	refused(t, n.fetcher(""), ociWant("1.2.3"), true, "not a chart")
}

// Content that does not match its digest is refused.
func TestRegistryLies(t *testing.T) {
	n := newInternet(t)
	r := newRegistry()
	data := packed(t, "app", "1.2.3", "one")
	r.push(t, "charts/app", "1.2.3", data)
	other := slices.Clone(data)
	other[len(other)-1]++
	r.blobs[sum(data)] = other
	n.serve("registry.example.com", r)
	refused(t, n.fetcher(""), ociWant("1.2.3"), true, "does not have its digest")
}

// The operator's credentials go to the registry and to the server that issues its tokens, but not to the host of the
// blobs.
func TestRegistryCredentials(t *testing.T) {
	n := newInternet(t)
	r := newRegistry()
	r.realm, r.user, r.blobHost = "https://auth.example.com/token", "me:secret", "https://blobs.example.com"
	data := packed(t, "app", "1.2.3", "one")
	r.push(t, "charts/app", "1.2.3", data)
	n.serve("registry.example.com", r)
	n.serve("auth.example.com", r)
	n.serve("blobs.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	refused(t, n.fetcher(""), ociWant("1.2.3"), false, "HTTP 401")
	config := filepath.Join(t.TempDir(), "docker.json")
	auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	text := `{"auths":{"registry.example.com":{"auth":"` + auth + `"}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.asked()
	f := n.fetcher("allow: [oci://registry.example.com/**]\ncredentials:\n- prefix: oci://registry.example.com/charts/\n" +
		"  dockerConfig: " + config)
	had(t, f, ociWant("1.2.3"))
	for address, shown := range n.shown() {
		switch {
		case strings.Contains(address, "auth.example.com/token"):
			if shown != "Basic "+auth {
				t.Errorf("%s was shown %q", address, shown)
			}
		case strings.Contains(address, "blobs.example.com") && shown != "",
			strings.Contains(shown, auth):
			t.Errorf("%s was shown %q", address, shown)
		}
	}
}

// Some chart repositories have charts in registries.
func TestIndexLeadsToRegistry(t *testing.T) {
	n := newInternet(t)
	r, c := newRegistry(), newRepository()
	r.push(t, "charts/app", "1.2.3", packed(t, "app", "1.2.3", "one"))
	c.add(t, "app", "1.2.3", "one", "oci://registry.example.com/charts/app:1.2.3")
	n.serve("registry.example.com", r)
	n.serve("charts.example.com", c)
	f := n.fetcher("")
	if e := had(t, f, chartWant("1.2.3")); contentOf(t, f, e, "templates/cm.yaml") != "one" {
		t.Errorf("got %+v", e)
	}
	narrow, err := f.o.Policy.Narrow([]string{"https://charts.example.com/**"})
	if err != nil {
		t.Fatal(err)
	}
	// Content in the store is checked against the list of allowed sources as well.
	refused(t, n.fetcher("", func(o *Options) { o.Store, o.Policy = f.o.Store, narrow }), chartWant("1.2.3"), false,
		"another host")
}
