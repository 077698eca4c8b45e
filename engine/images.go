package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jmespath"
)

// images is the variable of that name: the images of an object by kind of container and name of the
// container (https://kyverno.io/docs/policy-types/cluster-policy/variables/#variables-from-container-images).
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

// parseImage takes an image reference apart; the registry defaults to docker.io and the tag to latest
// (https://pkg.go.dev/github.com/distribution/reference has the grammar).
func parseImage(image string) (map[string]any, error) {
	bad := func(why string) (map[string]any, error) {
		return nil, fmt.Errorf("bad image: %s: %s", image, why)
	}
	rest, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest {
		algorithm, hex, ok := strings.Cut(digest, ":")
		if !ok || algorithm == "" || len(hex) < 32 || strings.Trim(hex, "0123456789abcdefABCDEF") != "" {
			return bad("invalid digest")
		}
	}
	registry := "docker.io"
	if first, after, ok := strings.Cut(rest, "/"); ok &&
		(strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first) {
		registry, rest = first, after
	}
	path, tag := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		path, tag = rest[:i], rest[i+1:]
		if tag == "" || len(tag) > 128 || strings.Trim(tag, tagCharacters) != "" || strings.ContainsAny(tag[:1], ".-") {
			return bad("invalid reference format")
		}
	}
	if !validPath(path) || registry == "" || strings.ContainsAny(registry, " _@") {
		return bad("invalid reference format")
	}
	if tag == "" && !hasDigest {
		tag = "latest"
	}
	info := map[string]any{"registry": registry, "path": path, "name": path[strings.LastIndexByte(path, '/')+1:]}
	info["referenceWithTag"] = registry + "/" + path + ":" + tag
	info["reference"] = info["referenceWithTag"]
	if tag != "" {
		info["tag"] = tag
	}
	if hasDigest {
		info["digest"] = digest
		info["reference"] = registry + "/" + path + "@" + digest
	}
	return info, nil
}

const (
	pathCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	tagCharacters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

func validPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || strings.Trim(part, pathCharacters) != "" || strings.ContainsAny(part[:1]+part[len(part)-1:], "._-") {
			return false
		}
	}
	return len(path) <= 255
}
