package jmespath

import "strings"

// normalizeImage adds the default registry docker.io and the default tag latest, as Kyverno does where it is not
// configured otherwise (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#image_normalize). Of an image
// with a digest the tag is dropped.
func normalizeImage(c *call) (any, error) {
	name, digest, hasDigest := strings.Cut(c.str(0), "@")
	registry, repository := "docker.io", name
	if first, rest, ok := strings.Cut(name, "/"); ok && isRegistry(first) {
		registry, repository = first, rest
	}
	tag := "latest"
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		repository, tag = repository[:i], repository[i+1:]
	}
	if !validRepository(repository) || tag == "" || hasDigest && !strings.Contains(digest, ":") {
		return nil, c.fail("argument #1 is not an image reference")
	}
	if hasDigest {
		return c.made(registry + "/" + repository + "@" + digest)
	}
	return c.made(registry + "/" + repository + ":" + tag)
}

// isRegistry tells a registry from the first part of a path, as container runtimes do.
func isRegistry(s string) bool {
	return strings.ContainsAny(s, ".:") || s == "localhost" || strings.ToLower(s) != s
}

func validRepository(s string) bool {
	if s == "" || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		lower := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		return !lower && !strings.ContainsRune("._-/", r)
	})
}
