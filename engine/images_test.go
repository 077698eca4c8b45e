package engine

import (
	"strings"
	"testing"
)

// TestImageReferences holds that references are taken apart and refused as Kyverno does.
func TestImageReferences(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	for image, want := range map[string]string{ // registry, path, tag; "" for none that can be read
		"nginx": "docker.io nginx latest", "nginx:1.2": "docker.io nginx 1.2", "a/b": "docker.io a/b latest",
		"Foo/bar": "Foo bar latest", "localhost/x": "localhost x latest", "localhost:5000/x:1": "localhost:5000 x 1",
		"test.com:tag": "docker.io test.com tag", "[::1]:80/x": "[::1]:80 x latest", "a:1/b": "a:1 b latest",
		"a-b.c_d/e": "a-b.c_d e latest", "reg:80/a_b/c__d---e.f:T": "reg:80 a_b/c__d---e.f T",
		"x@sha256:" + sum: "docker.io x ", "x:1@sha512:" + sum + sum: "docker.io x 1",
		"Nginx": "", "a//b": "", "/a": "", "a/": "", "a:": "", "x@": "", " nginx": "", "x y": "", "x:-1": "", "x:.1": "", "a..b/c": "",
		"-a/b": "", "a_/b": "", "a___b": "", "a.-b": "", "é/x": "", "a:x/b": "", "-a.b/c": "", "[]/x": "", "[x]/y": "",
		"x:" + strings.Repeat("t", 129): "", strings.Repeat("n", 256): "", "x@sha256:12": "", "x@md5:" + sum: "",
		"x@sha512:" + sum: "", "x@sha256:" + strings.ToUpper(sum): "",
	} {
		info, err := parseImage(image)
		got := ""
		if err == nil {
			tag, _ := info["tag"].(string)
			got = info["registry"].(string) + " " + info["path"].(string) + " " + tag
		}
		if got != want {
			t.Errorf("%s: got %q (%v), want %q", image, got, err, want)
		}
	}
}
