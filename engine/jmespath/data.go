package jmespath

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
)

// dataFunctions build and take apart objects and lists, and know images and addresses
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#items).
func dataFunctions() []function {
	return []function{
		{name: "parse_json", params: []kind{kindString}, run: parseJSON},
		{name: "parse_yaml", params: []kind{kindString}, run: parseYAML},
		{name: "lookup", params: []kind{kindObject | kindArray, kindString | kindNumber}, run: lookup},
		{name: "items", params: []kind{kindObject | kindArray, kindString, kindString}, run: items},
		{name: "object_from_lists", params: []kind{kindArray, kindArray}, run: objectFromLists},
		{name: "label_match", params: []kind{kindObject, kindObject}, run: labelMatch},
		{name: "image_normalize", params: []kind{kindString}, run: normalizeImage},
		{name: "is_external_url", params: []kind{kindString}, run: isExternalURL},
	}
}

func parseJSON(c *call) (any, error) {
	if err := c.grow(len(c.str(0))); err != nil {
		return nil, err
	}
	v, err := decodeJSON([]byte(c.str(0)))
	if err != nil {
		return nil, c.fail("argument #1 is not JSON")
	}
	return v, nil
}

// decodeJSON reads one document and gives whole numbers as int64.
func decodeJSON(text []byte) (v any, err error) {
	err = json.Unmarshal(text, &v)
	return wholeNumbers(v), err
}

// parseYAML measures a document with aliases before it expands them: a few lines can stand for gigabytes.
func parseYAML(c *call) (any, error) {
	text := c.str(0)
	if err := c.grow(len(text)); err != nil {
		return nil, err
	}
	bad := c.fail("argument #1 is not YAML that can be written as JSON")
	if strings.Contains(text, "*") {
		var doc yamlv3.Node
		if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
			return nil, bad
		}
		if err := c.measureYAML(&doc, 0); err != nil {
			return nil, err
		}
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, bad
	}
	v, err := decodeJSON(asJSON)
	if err != nil {
		return nil, bad
	}
	return v, nil
}

// measureYAML counts a document as it is with its aliases expanded; one that holds itself is endless.
func (m *machine) measureYAML(n *yamlv3.Node, depth int) error {
	if err := m.tick(); err != nil {
		return err
	}
	if depth > maxResultDepth {
		return &LimitError{What: "levels", Limit: maxResultDepth}
	}
	if n.Kind == yamlv3.AliasNode {
		return m.measureYAML(n.Alias, depth+1)
	}
	if err := m.grow(len(n.Value)); err != nil {
		return err
	}
	for _, kid := range n.Content {
		if err := m.measureYAML(kid, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// lookup gives null for a key or index that does not exist.
func lookup(c *call) (any, error) {
	if list, ok := c.args[0].([]any); ok {
		n, ok := asNumber(c.args[1])
		if !ok {
			return nil, c.fail("argument #2 is not of type Number")
		}
		i, ok := n.toInt()
		if !ok {
			return nil, c.fail("argument #2 is not a whole number")
		}
		if i < 0 {
			return nil, nil
		}
		return at(list, i), nil
	}
	key, ok := c.args[1].(string)
	if !ok {
		return nil, c.fail("argument #2 is not of type String")
	}
	return c.obj(0)[key], nil
}

// items lists an object by its sorted keys, or a list by its indexes.
func items(c *call) (any, error) {
	key, value := c.str(1), c.str(2)
	entry := func(k, v any) any { return map[string]any{key: k, value: v} }
	if list, ok := c.args[0].([]any); ok {
		out := make([]any, len(list))
		for i, v := range list {
			out[i] = entry(int64(i), v)
		}
		return out, c.grow(64 * len(out))
	}
	o := c.obj(0)
	out := make([]any, 0, len(o))
	for _, k := range sortedKeys(o) {
		out = append(out, entry(k, o[k]))
	}
	return out, c.grow(64 * len(out))
}

// objectFromLists gives keys without a value null.
func objectFromLists(c *call) (any, error) {
	keys, values := c.list(0), c.list(1)
	if err := c.grow(32 * len(keys)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(keys))
	for i, k := range keys {
		name, ok := scalarText(k)
		if !ok {
			return nil, c.fail("argument #1 is not of type StringArray")
		}
		out[name] = nil
		if i < len(values) {
			out[name] = values[i]
		}
	}
	return out, nil
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	}
	n, ok := asNumber(v)
	return formatNumber(n), ok
}

// labelMatch reports whether all labels of the first object are in the second.
func labelMatch(c *call) (any, error) {
	return c.has(c.obj(1), c.obj(0))
}

// isExternalURL decides for addresses. A host name would have to be resolved, and what it resolves to in
// the cluster is not known here.
func isExternalURL(c *call) (any, error) {
	u, err := url.ParseRequestURI(c.str(0))
	if err != nil || u.Hostname() == "" {
		return nil, c.fail("argument #1 is not a URL with a host")
	}
	host := u.Hostname()
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return false, nil // always the machine itself, RFC 6761 section 6.3
	}
	address, _, _ := strings.Cut(host, "%") // an IPv6 zone
	ip := net.ParseIP(address)
	if ip == nil {
		return nil, &admission.NeedsClusterError{What: "the addresses of the host name given to is_external_url"}
	}
	return !ip.IsLoopback() && !ip.IsPrivate(), nil
}
