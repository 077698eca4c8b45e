package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
)

// images returns the variable images: the images of an object by the kind and the name of the container
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/#variables-from-container-images).
func images(ctx context.Context, o admission.Object, env jmespath.Env) (map[string]any, error) {
	pointer, ok := admission.PodPointer(admission.IdentityOf(o).Kind)
	if !ok {
		return map[string]any{}, nil
	}
	pointer += "/spec"
	spec, err := admission.MapAt(o, pointer)
	if err != nil {
		return nil, err
	}
	out, elements, secrets := map[string]any{}, []string{"*"}, pullSecrets(spec, nil)
	for _, kind := range []string{"initContainers", "containers", "ephemeralContainers"} {
		x := &search{extractor: &extractor{value: "image", key: "name"}, ctx: ctx, env: env, found: map[string]any{}}
		if err := x.collect(spec[kind], elements, pointer+"/"+kind, secrets); err != nil {
			return nil, err
		}
		if len(x.found) > 0 {
			out[kind] = x.found
		}
	}
	return out, nil
}

// parseImage splits an image reference. The registry defaults to docker.io and the tag to latest
// (https://pkg.go.dev/github.com/distribution/reference has the grammar).
func parseImage(image string) (map[string]any, error) {
	bad := func(why string) (map[string]any, error) {
		return nil, fmt.Errorf("bad image: %s: %s", image, why)
	}
	name, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest && !validDigest(digest) {
		return bad("invalid digest")
	}
	first, _, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" && strings.ToLower(first) == first {
		name = "docker.io/" + name
	}
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
		if tag == "" || len(tag) > 128 || strings.Trim(tag, tagCharacters) != "" || strings.ContainsAny(tag[:1], ".-") {
			return bad("invalid reference format")
		}
	}
	registry, path, _ := strings.Cut(name, "/")
	if !validRegistry(registry) {
		registry, path = "", name
	}
	if !validPath(path) || len(name) > 255 {
		return bad("invalid reference format")
	}
	if tag == "" && !hasDigest {
		tag = "latest"
	}
	info := map[string]any{"path": path, "name": path[strings.LastIndexByte(path, '/')+1:]}
	if registry != "" {
		info["registry"] = registry
	} else if first, rest, ok := strings.Cut(path, "/"); ok && strings.Contains(first, "_") {
		// Kyverno treats this as a registry nevertheless.
		info["registry"], info["path"] = first, rest
	}
	info["referenceWithTag"] = name + ":" + tag
	info["reference"] = info["referenceWithTag"]
	if tag != "" {
		info["tag"] = tag
	}
	if hasDigest {
		info["digest"] = digest
		info["reference"] = name + "@" + digest
	}
	return info, nil
}

const (
	lower         = "abcdefghijklmnopqrstuvwxyz0123456789"
	letters       = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	tagCharacters = letters + "._-"
)

func validDigest(digest string) bool {
	algorithm, hex, _ := strings.Cut(digest, ":")
	length := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
	return length > 0 && len(hex) == length && strings.Trim(hex, "0123456789abcdef") == ""
}

// validRegistry reports whether s is a host name or address, optionally with a port.
func validRegistry(s string) bool {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		if host, port = s[:i], s[i+1:]; port == "" || strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && inner != "" && strings.Trim(inner, "0123456789abcdefABCDEF:") == ""
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || strings.Trim(part, letters+"-") != "" || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
	}
	return true
}

// validPath reports whether the parts of a path consist of lower-case letters and digits, separated by a dot, one or
// two underscores, or any number of dashes.
func validPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		for part != "" {
			word := len(part) - len(strings.TrimLeft(part, lower))
			rest := strings.TrimLeft(part[word:], "._-")
			between := part[word : len(part)-len(rest)]
			if word == 0 || between == "" && rest != "" || between != "" && rest == "" {
				return false
			}
			if between != "" && between != "." && between != "_" && between != "__" && strings.Trim(between, "-") != "" {
				return false
			}
			part = rest
		}
	}
	return path != "" && !strings.Contains("/"+path+"/", "//")
}
