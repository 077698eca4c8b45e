package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

func TestParseImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	tests := []struct {
		image                           string
		registry, path, name, tag, refs string
	}{
		{"nginx", "docker.io", "nginx", "nginx", "latest", "docker.io/nginx:latest"},
		{"nginx:1.2", "docker.io", "nginx", "nginx", "1.2", "docker.io/nginx:1.2"},
		{"library/nginx", "docker.io", "library/nginx", "nginx", "latest", "docker.io/library/nginx:latest"},
		{"ghcr.io/a/b:v1", "ghcr.io", "a/b", "b", "v1", "ghcr.io/a/b:v1"},
		{"localhost/a", "localhost", "a", "a", "latest", "localhost/a:latest"},
		{"localhost:5000/a/b", "localhost:5000", "a/b", "b", "latest", "localhost:5000/a/b:latest"},
		{"ghcr.io/a@" + digest, "ghcr.io", "a", "a", "", "ghcr.io/a@" + digest},
		{"a:v1@" + digest, "docker.io", "a", "a", "v1", "docker.io/a@" + digest},
	}
	for _, tt := range tests {
		got, err := parseImage(tt.image)
		if err != nil {
			t.Errorf("%s: %v", tt.image, err)
			continue
		}
		tag, _ := got["tag"].(string)
		if got["registry"] != tt.registry || got["path"] != tt.path || got["name"] != tt.name || tag != tt.tag ||
			got["reference"] != tt.refs {
			t.Errorf("%s: got %v", tt.image, got)
		}
	}
	for _, bad := range []string{"UPPER", "a//b", "a:", "a:b c", "a@sha256:xyz", "-a", "", "ghcr.io/"} {
		if got, err := parseImage(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestParseLookup(t *testing.T) {
	tests := []struct {
		path string
		want lookupPath
		bad  bool
	}{
		{"/api/v1/namespaces", lookupPath{version: "v1", resource: "namespaces"}, false},
		{"/api/v1/namespaces/a", lookupPath{version: "v1", resource: "namespaces", name: "a"}, false},
		{"/api/v1/namespaces/a/pods", lookupPath{version: "v1", namespace: "a", resource: "pods"}, false},
		{"/apis/apps/v1/namespaces/a/deployments/b?limit=5", lookupPath{group: "apps", version: "v1", namespace: "a",
			resource: "deployments", name: "b"}, false},
		{"/apis/x.io/v1/things/", lookupPath{group: "x.io", version: "v1", resource: "things"}, false},
		{"/api/v1/../../secrets", lookupPath{}, true},
		{"/api/v1/nodes/a/proxy", lookupPath{}, true},
		{"/api/v1/pods?fieldSelector=a=b", lookupPath{}, true},
		{"/metrics", lookupPath{}, true},
		{"", lookupPath{}, true},
	}
	for _, tt := range tests {
		got, err := parseLookup(tt.path)
		if (err != nil) != tt.bad {
			t.Errorf("%q: %v", tt.path, err)
		}
		if !tt.bad && got != tt.want {
			t.Errorf("%q: got %+v", tt.path, got)
		}
	}
}

func TestRootOf(t *testing.T) {
	namespace := admission.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "team"}}
	r := &admission.Request{Operation: admission.Delete, OldObject: namespace, ClusterRoles: []string{"view"},
		UserInfo: admission.UserInfo{Username: "system:serviceaccount:ci:robot", Groups: []string{"g"}}}
	kind := map[string]any{"group": "", "version": "v1", "kind": "Namespace"}
	resource := map[string]any{"group": "", "version": "v1", "resource": "namespaces"}
	want := map[string]any{
		"serviceAccountName": "robot", "serviceAccountNamespace": "ci",
		"request": map[string]any{
			"kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
			"name": "team", "namespace": "team", "operation": "DELETE", "dryRun": false,
			"userInfo": map[string]any{"username": "system:serviceaccount:ci:robot", "groups": []any{"g"}},
			"roles":    nil, "clusterRoles": []any{"view"}, "object": nil, "oldObject": namespace,
		},
	}
	if diff := cmp.Diff(want, rootOf(r)); diff != "" {
		t.Error(diff)
	}
}

func TestPointers(t *testing.T) {
	v := map[string]any{"a/b": []any{map[string]any{"c~d": "x"}}}
	if got := jsonpointer.At(v, "/"+jsonpointer.Escape("a/b")+"/0/"+jsonpointer.Escape("c~d")); got != "x" {
		t.Errorf("got %v", got)
	}
	for _, missing := range []string{"/a", "/a~1b/1", "/a~1b/x", "/a~1b/0/c~0d/e"} {
		if got := jsonpointer.At(v, missing); got != nil {
			t.Errorf("%s: got %v", missing, got)
		}
	}
	if _, ok := jsonpointer.Below("/request/objectX", "/request/object"); ok {
		t.Error("a prefix of a token is no parent")
	}
}
