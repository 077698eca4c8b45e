package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

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
	full := image
	name, sum, hasDigest := strings.Cut(image, "@")
	first, _, ok := strings.Cut(name, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" && strings.ToLower(first) == first {
		full = "docker.io/" + image
	}
	ref, err := reference.Parse(full)
	named, ok := ref.(reference.Named)
	switch {
	case hasDigest && digest.Digest(sum).Validate() != nil:
		return nil, fmt.Errorf("bad image: %s: invalid digest", image)
	case err != nil || !ok || len(named.Name()) > 255:
		return nil, fmt.Errorf("bad image: %s: invalid reference format", image)
	}
	tag := ""
	if tagged, ok := ref.(reference.Tagged); ok {
		tag = tagged.Tag()
	} else if !hasDigest {
		tag = "latest"
	}
	registry, path := reference.Domain(named), reference.Path(named)
	info := map[string]any{"path": path, "name": path[strings.LastIndexByte(path, '/')+1:]}
	if registry != "" {
		info["registry"] = registry
	} else if first, rest, ok := strings.Cut(path, "/"); ok && strings.Contains(first, "_") {
		// Kyverno treats this as a registry nevertheless.
		info["registry"], info["path"] = first, rest
	}
	info["referenceWithTag"] = named.Name() + ":" + tag
	info["reference"] = info["referenceWithTag"]
	if tag != "" {
		info["tag"] = tag
	}
	if hasDigest {
		info["digest"] = sum
		info["reference"] = named.Name() + "@" + sum
	}
	return info, nil
}
