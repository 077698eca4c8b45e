package jmespath

import (
	"path"
	"regexp"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// stringFunctions are Kyverno's functions of strings
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#custom-filters).
func stringFunctions() []function {
	s := kindString
	two := []kind{s, s}
	return []function{
		{name: "compare", params: two, run: ofTwo(func(a, b string) int64 { return int64(strings.Compare(a, b)) })},
		{name: "equal_fold", params: two, run: ofTwo(strings.EqualFold)},
		{name: "replace", params: []kind{s, s, s, kindNumber}, run: func(c *call) (any, error) {
			count, ok := c.num(3).toInt()
			if !ok {
				return nil, c.fail("argument #4 is not a whole number")
			}
			return replace(c, count)
		}},
		{name: "replace_all", params: []kind{s, s, s}, run: func(c *call) (any, error) { return replace(c, -1) }},
		{name: "to_upper", params: []kind{s}, run: func(c *call) (any, error) { return c.made(strings.ToUpper(c.str(0))) }},
		{name: "to_lower", params: []kind{s}, run: func(c *call) (any, error) { return c.made(strings.ToLower(c.str(0))) }},
		{name: "trim", params: two, run: ofTwo(strings.Trim)},
		{name: "trim_prefix", params: two, run: ofTwo(strings.TrimPrefix)},
		{name: "split", params: two, run: split},
		{name: "truncate", params: []kind{s, kindNumber}, run: truncate},
		{name: "pattern_match", params: []kind{s, s | kindNumber}, run: func(c *call) (any, error) {
			return pattern.Wildcard(c.str(0), c.text(1)), nil
		}},
		{name: "to_boolean", params: []kind{s}, run: func(c *call) (any, error) {
			switch strings.ToLower(c.str(0)) {
			case "true":
				return true, nil
			case "false":
				return false, nil
			}
			return nil, c.fail("argument #1 must be 'true' or 'false' in any letter case")
		}},
		{name: "path_canonicalize", params: []kind{s}, run: func(c *call) (any, error) {
			if c.str(0) == "" {
				return "", nil // path.Clean would make "." of it
			}
			return path.Clean(c.str(0)), nil
		}},
		{name: "semver_compare", params: two, run: semverCompare},
	}
}

// replace counts before it writes: the result can be far larger than its arguments.
func replace(c *call, limit int) (any, error) {
	text, old, replacement := c.str(0), c.str(1), c.str(2)
	n := strings.Count(text, old)
	if limit >= 0 {
		n = min(n, limit)
	}
	// Both factors are strings that were already counted, so the product fits into 64 bits.
	if err := c.grow(len(text) + n*max(0, len(replacement)-len(old))); err != nil {
		return nil, err
	}
	return strings.Replace(text, old, replacement, limit), nil
}

func split(c *call) (any, error) {
	n := strings.Count(c.str(0), c.str(1)) + 1
	if err := c.grow(16 * n); err != nil {
		return nil, err
	}
	return jsonpointer.List(strings.Split(c.str(0), c.str(1))), nil
}

// truncate keeps the first characters; a negative length keeps none.
func truncate(c *call) (any, error) {
	n := c.num(1).float()
	kept := 0
	for i := range c.str(0) {
		if float64(kept+1) > n {
			return c.str(0)[:i], nil
		}
		kept++
	}
	return c.str(0), nil
}

// semverCompare takes a first argument that is not a version as 0.0.0, as Kyverno does; a range that cannot
// be read is an error. The ranges are those of blang/semver ("x" placeholders, AND by space, OR by ||).
func semverCompare(c *call) (any, error) {
	in, err := semver.ParseRange(c.str(1))
	if err != nil {
		return nil, c.fail("argument #2 is not a range of versions")
	}
	version, err := semver.Parse(c.str(0))
	if err != nil {
		version = semver.Version{}
	}
	return in(version), nil
}

// regexFunctions take regular expressions of Go (https://pkg.go.dev/regexp/syntax).
func regexFunctions() []function {
	s, either := kindString, kindString|kindNumber
	return []function{
		{name: "regex_match", params: []kind{s, either}, regex: true, run: func(c *call) (any, error) {
			re, err := c.regexp()
			if err != nil {
				return nil, err
			}
			return re.MatchString(c.text(1)), nil
		}},
		{name: "regex_replace_all", params: []kind{s, either, either}, regex: true, run: func(c *call) (any, error) {
			return regexReplace(c, func(re *regexp.Regexp, out []byte, template, text string, match []int) []byte {
				return re.ExpandString(out, template, text, match)
			})
		}},
		{name: "regex_replace_all_literal", params: []kind{s, either, either}, regex: true, run: func(c *call) (any, error) {
			return regexReplace(c, func(_ *regexp.Regexp, out []byte, template, _ string, _ []int) []byte {
				return append(out, template...)
			})
		}},
	}
}

// regexReplace replaces match by match, so that the output is bounded while it grows.
func regexReplace(c *call, expand func(*regexp.Regexp, []byte, string, string, []int) []byte) (any, error) {
	re, err := c.regexp()
	if err != nil {
		return nil, err
	}
	text, replacement := c.text(1), c.text(2)
	var out []byte
	rest := 0
	for _, match := range re.FindAllStringSubmatchIndex(text, -1) {
		before := len(out)
		out = append(out, text[rest:match[0]]...)
		out = expand(re, out, replacement, text, match)
		rest = match[1]
		if err := c.grow(len(out) - before); err != nil {
			return nil, err
		}
	}
	if rest == 0 && out == nil {
		return text, nil
	}
	return c.made(string(append(out, text[rest:]...)))
}
