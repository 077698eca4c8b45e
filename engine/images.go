package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// images returns the variable images: the images of an object by the kind and the name of the container
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/#variables-from-container-images).
func images(o admission.Object) (map[string]any, error) {
	pointer, ok := admission.PodPointer(admission.IdentityOf(o).Kind)
	if !ok {
		return map[string]any{}, nil
	}
	pointer += "/spec"
	spec, err := admission.MapAt(o, pointer)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, kind := range []string{"initContainers", "containers", "ephemeralContainers"} {
		found := map[string]any{}
		add := func(at string, container any) error {
			return addImage(found, pointer+"/"+kind+"/"+at, container, pullSecrets(spec, nil))
		}
		switch list := spec[kind].(type) {
		case nil:
		case []any:
			for i, e := range list {
				if err := add(strconv.Itoa(i), e); err != nil {
					return nil, err
				}
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(list)) {
				if err := add(jsonpointer.Escape(k), list[k]); err != nil {
					return nil, err
				}
			}
		default:
			return nil, noImages("%s must be a list or a map", pointer+"/"+kind)
		}
		if len(found) > 0 {
			out[kind] = found
		}
	}
	return out, nil
}

// addImage adds the image of a container by its name. secrets are the names in imagePullSecrets of the pod.
func addImage(found map[string]any, pointer string, container any, secrets []any) error {
	if container == nil {
		return nil
	}
	m, ok := container.(map[string]any)
	if !ok {
		return noImages("%s must be a map", pointer)
	}
	pointer += "/image"
	name, ok := m["name"].(string)
	if !ok {
		return noImages("there is no text in the field name beside %s", pointer)
	}
	value, _ := m["image"].(string)
	if strings.TrimSpace(value) == "" {
		return nil // there may be none
	}
	info, err := parseImage(value)
	if err != nil {
		return err
	}
	info["jsonPointer"], info["imagePullSecrets"] = pointer, append([]any{}, pullSecrets(m, secrets)...)
	found[name] = info
	return nil
}

// pullSecrets adds the names in imagePullSecrets of a map to those of the map around it.
func pullSecrets(m map[string]any, around []any) []any {
	list, _ := m["imagePullSecrets"].([]any)
	for _, e := range list {
		secret, _ := e.(map[string]any)
		if name, ok := secret["name"].(string); ok {
			around = append(around[:len(around):len(around)], name)
		}
	}
	return around
}

func noImages(format string, args ...any) error {
	return &admission.UnreadableError{Err: fmt.Errorf("images cannot be read: "+format, args...)}
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
