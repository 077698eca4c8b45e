package mutate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
)

// Limits of a JSON patch: the bytes of its text, its operations, and the indexes in its paths.
const (
	maxPatch      = 1 << 20
	maxOperations = 1000
	maxIndex      = 1000
)

// ops is a JSON patch (RFC 6902).
type ops struct{ patch jsonpatch.Patch }

// operations parses a JSON patch that is a list, or a text with one in JSON or YAML.
func operations(v any) (ops, error) {
	var data []byte
	var err error
	if text, ok := v.(string); ok {
		if len(text) > maxPatch {
			return ops{}, fmt.Errorf("the patch is larger than %d bytes", maxPatch)
		}
		data, err = yaml.YAMLToJSON([]byte(text))
	} else {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return ops{}, errors.New("the patch is not valid JSON or YAML")
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return ops{}, errors.New("the patch is not a list of operations")
	}
	if len(patch) > maxOperations {
		return ops{}, fmt.Errorf("the patch has more than %d operations", maxOperations)
	}
	for i, op := range patch {
		switch op.Kind() {
		case "add", "remove", "replace", "move", "copy", "test":
		default:
			return ops{}, fmt.Errorf("operation %d of the patch is none of add, remove, replace, move, copy and test", i)
		}
		path, err := op.Path()
		if err != nil || !strings.HasPrefix(path, "/") && path != "" {
			return ops{}, fmt.Errorf("operation %d of the patch has no path that starts with a slash", i)
		}
		// Missing parents of added values are created, lists up to the index.
		for token := range strings.SplitSeq(path, "/") {
			if n, err := strconv.Atoi(token); err == nil && (n > maxIndex || n < -maxIndex) {
				return ops{}, fmt.Errorf("operation %d of the patch has an index above %d", i, maxIndex)
			}
		}
		needs := map[string]string{"add": "value", "replace": "value", "test": "value", "move": "from",
			"copy": "from"}[op.Kind()]
		if _, ok := op[needs]; needs != "" && !ok {
			return ops{}, fmt.Errorf("operation %d of the patch, %s, needs a %s", i, op.Kind(), needs)
		}
	}
	return ops{patch}, nil
}

// apply returns the object with the patch applied. Like Kyverno, it creates the missing parents of added values, and
// ignores the removal of missing values.
func (o ops) apply(object admission.Object) (admission.Object, error) {
	options := jsonpatch.NewApplyOptions()
	options.AllowMissingPathOnRemove = true
	options.EnsurePathExistsOnAdd = true
	options.SupportNegativeIndices = true
	options.AccumulatedCopySizeLimit = maxPatch
	return o.applyWith(object, options)
}

func (o ops) applyWith(object admission.Object, options *jsonpatch.ApplyOptions) (result admission.Object, err error) {
	// The library panics on some patches that the checks here do not detect.
	defer func() {
		if recover() != nil {
			result, err = object, errors.New("the JSON patch cannot be applied")
		}
	}()
	data, err := json.Marshal(object)
	if err != nil {
		return object, fmt.Errorf("write the object as JSON: %w", err)
	}
	data, err = o.patch.ApplyWithOptions(data, options)
	if err != nil {
		return object, fmt.Errorf("apply the JSON patch: %w", err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil || out == nil {
		return object, errors.New("the JSON patch does not leave an object")
	}
	return out, nil
}
