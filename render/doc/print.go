package doc

import (
	"fmt"
	"math"

	yaml2 "go.yaml.in/yaml/v2"
	sigsyaml "sigs.k8s.io/yaml"
)

// Print returns an object of JSON values as YAML (whole numbers are int64, others float64), byte for byte as
// sigs.k8s.io/yaml prints it. That package converts to JSON and reads it back, which costs more than the rest.
func Print(object any) (data []byte, err error) {
	wholeFloat := func(v any) bool { // JSON writes it in another way than YAML, such as 2e3
		f, ok := v.(float64)
		return ok && f == math.Trunc(f)
	}
	if HasLeaf(object, wholeFloat) {
		return sigsyaml.Marshal(object)
	}
	defer func() {
		if p := recover(); p != nil { // the library panics for what is no value
			err = fmt.Errorf("print as YAML: %v", p)
		}
	}()
	if data, err = yaml2.Marshal(object); err != nil {
		return nil, fmt.Errorf("print as YAML: %w", err)
	}
	return data, nil
}
