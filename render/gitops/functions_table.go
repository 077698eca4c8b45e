package gitops

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/Masterminds/semver/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/source"
)

// functionTable answers the functions that templates may call: those of sprig that depend on nothing but their
// arguments (https://masterminds.github.io/sprig/), Argo CD's own, and text/template's printing ones, bounded.
var functionTable = sync.OnceValue(func() map[string]function {
	table := map[string]function{}
	for _, part := range []map[string]function{textFunctions(), numberFunctions(), listFunctions(), mapFunctions(), dataFunctions(), regexFunctions()} {
		maps.Copy(table, part)
	}
	return table
})

func textFunctions() map[string]function {
	all := func(f func(args []string) (any, error)) function {
		return function{0, -1, func(a []any) (any, error) {
			list := make([]string, 0, len(a))
			n := 0
			for _, v := range a {
				if v != nil {
					list = append(list, show(v))
					n += len(list[len(list)-1]) + 4
				}
			}
			if n > maxValueBytes {
				return nil, errTooLarge
			}
			return f(list)
		}}
	}
	quoted := func(mark func(string) string) function {
		return all(func(args []string) (any, error) {
			for i := range args {
				args[i] = mark(args[i])
			}
			return strings.Join(args, " "), nil
		})
	}
	indent := func(a []any) (string, error) {
		n, text := int(toInt(a[0])), show(a[1])
		if n < 0 || n > 1000 || len(text)+n*(strings.Count(text, "\n")+1) > maxValueBytes {
			return "", errTooLarge
		}
		pad := strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
	}
	return map[string]function{
		"trim": text1(strings.TrimSpace), "upper": text1(strings.ToUpper), "lower": text1(strings.ToLower),
		"title": text1(func(s string) string { return eachWord(s, unicode.ToUpper) }), "untitle": text1(func(s string) string { return eachWord(s, unicode.ToLower) }),
		"nospace":    text1(func(s string) string { return strings.Join(strings.Fields(s), "") }),
		"trimAll":    text2(func(a, b string) any { return strings.Trim(b, a) }),
		"trimPrefix": text2(func(a, b string) any { return strings.TrimPrefix(b, a) }),
		"trimSuffix": text2(func(a, b string) any { return strings.TrimSuffix(b, a) }),
		"hasPrefix":  text2(func(a, b string) any { return strings.HasPrefix(b, a) }),
		"hasSuffix":  text2(func(a, b string) any { return strings.HasSuffix(b, a) }),
		"contains":   text2(func(a, b string) any { return strings.Contains(b, a) }),
		"normalize":  text1(normalize), "base": text1(path.Base), "dir": text1(path.Dir), "ext": text1(path.Ext), "clean": text1(path.Clean),
		"quote": quoted(strconv.Quote), "squote": quoted(func(s string) string { return "'" + s + "'" }),
		"cat":     all(func(args []string) (any, error) { return strings.Join(args, " "), nil }),
		"print":   {0, -1, func(a []any) (any, error) { return fmt.Sprint(a...), nil }},
		"println": {0, -1, func(a []any) (any, error) { return fmt.Sprintln(a...), nil }},
		"printf":  {1, -1, printed},
		"indent":  {2, 2, func(a []any) (any, error) { return indent(a) }},
		"nindent": {2, 2, func(a []any) (any, error) {
			text, err := indent(a)
			return "\n" + text, err
		}},
		"repeat": {2, 2, func(a []any) (any, error) {
			n, text := int(max(0, min(toInt(a[0]), maxValueBytes+1))), show(a[1])
			return bounded(n*len(text), func() string { return strings.Repeat(text, n) })
		}},
		"replace": {3, 3, func(a []any) (any, error) {
			old, by, text := show(a[0]), show(a[1]), show(a[2])
			return bounded(len(text)+strings.Count(text, old)*len(by), func() string { return strings.ReplaceAll(text, old, by) })
		}},
		"trunc": {2, 2, func(a []any) (any, error) {
			n, text := toInt(a[0]), show(a[1])
			switch {
			case n < 0 && int64(len(text))+n > 0:
				return text[int64(len(text))+n:], nil
			case n >= 0 && n < int64(len(text)):
				return text[:n], nil
			}
			return text, nil
		}},
		"substr": {3, 3, func(a []any) (any, error) {
			from, to, text := toInt(a[0]), toInt(a[1]), show(a[2])
			n := int64(len(text))
			if from < 0 {
				from = 0
			}
			if to < 0 || to > n {
				to = n
			}
			if from > to {
				return nil, errArgument
			}
			return text[from:to], nil
		}},
		"plural": {3, 3, func(a []any) (any, error) {
			if toInt(a[2]) == 1 {
				return a[0], nil
			}
			return a[1], nil
		}},
		"splitList": text2(func(sep, s string) any { return texts2list(strings.Split(s, sep)) }),
		"split": text2(func(sep, s string) any {
			m := map[string]any{}
			for i, part := range strings.Split(s, sep) {
				m["_"+strconv.Itoa(i)] = part
			}
			return m
		}),
		"splitn": {3, 3, func(a []any) (any, error) {
			m := map[string]any{}
			for i, part := range strings.SplitN(show(a[2]), show(a[0]), int(toInt(a[1]))) {
				m["_"+strconv.Itoa(i)] = part
			}
			return m, nil
		}},
		"join": {2, 2, func(a []any) (any, error) {
			list, err := listOf(a[1])
			if err != nil {
				return show(a[1]), nil
			}
			parts, n := make([]string, len(list)), 0
			for i, v := range list {
				parts[i] = show(v)
				n += len(parts[i]) + len(show(a[0]))
			}
			return bounded(n, func() string { return strings.Join(parts, show(a[0])) })
		}},
		"fail": {1, 1, func(a []any) (any, error) { return nil, fmt.Errorf("fail: %.100s", show(a[0])) }},
	}
}

func eachWord(s string, change func(rune) rune) string {
	start := true
	return strings.Map(func(r rune) rune {
		was := start
		start = unicode.IsSpace(r)
		if was {
			return change(r)
		}
		return r
	}, s)
}

func texts2list(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func numberFunctions() map[string]function {
	number := function{1, 1, func(a []any) (any, error) { return toInt(a[0]), nil }}
	return map[string]function{
		"int": {1, 1, func(a []any) (any, error) { return int(toInt(a[0])), nil }}, "int64": number,
		"atoi":    {1, 1, func(a []any) (any, error) { n, _ := strconv.Atoi(show(a[0])); return n, nil }},
		"float64": {1, 1, func(a []any) (any, error) { n, _ := toFloat(a[0]); return n, nil }},
		"add1":    {1, 1, func(a []any) (any, error) { return toInt(a[0]) + 1, nil }},
		"add":     numbers(func(a, b int64) (int64, error) { return a + b, nil }),
		"sub":     numbers(func(a, b int64) (int64, error) { return a - b, nil }),
		"mul":     numbers(func(a, b int64) (int64, error) { return a * b, nil }),
		"div":     numbers(divide(func(a, b int64) int64 { return a / b })),
		"mod":     numbers(divide(func(a, b int64) int64 { return a % b })),
		"max":     numbers(func(a, b int64) (int64, error) { return max(a, b), nil }),
		"min":     numbers(func(a, b int64) (int64, error) { return min(a, b), nil }),
		"floor":   {1, 1, func(a []any) (any, error) { n, _ := toFloat(a[0]); return math.Floor(n), nil }},
		"ceil":    {1, 1, func(a []any) (any, error) { n, _ := toFloat(a[0]); return math.Ceil(n), nil }},
		"until": {1, 1, func(a []any) (any, error) {
			n := toInt(a[0])
			if n > maxValueNodes/2 {
				return nil, errTooLarge
			}
			list := []any{}
			for i := range n {
				list = append(list, int(i))
			}
			return list, nil
		}},
	}
}

func dataFunctions() map[string]function {
	parsed := func(a []any) (any, error) {
		documents, err := source.Parse("", []byte(show(a[0])), source.Limits{Nodes: maxValueNodes})
		if err != nil {
			return nil, errors.New("the text is not valid YAML or JSON")
		}
		if len(documents) == 0 {
			return nil, nil
		}
		return asJSON(fieldOfNode("", documents[0], 0).plain()), nil
	}
	fromMap := func(a []any) (any, error) {
		v, err := parsed(a)
		if m, ok := v.(map[string]any); ok || err != nil {
			return m, err
		}
		return nil, errArgument
	}
	fromList := func(a []any) (any, error) {
		v, err := parsed(a)
		if l, ok := v.([]any); ok || err != nil {
			return l, err
		}
		return nil, errArgument
	}
	toJSON := func(a []any) (any, error) { data, err := json.Marshal(a[0]); return string(data), err }
	return map[string]function{
		"toJson": {1, 1, toJSON}, "mustToJson": {1, 1, toJSON}, "fromJson": {1, 1, parsed}, "mustFromJson": {1, 1, parsed},
		"toPrettyJson": {1, 1, func(a []any) (any, error) {
			data, err := json.MarshalIndent(a[0], "", "  ")
			return string(data), err
		}},
		"toYaml": {1, 1, func(a []any) (any, error) {
			data, err := sigsyaml.Marshal(a[0])
			return strings.TrimSuffix(string(data), "\n"), err
		}},
		"fromYaml": {1, 1, fromMap}, "fromYamlArray": {1, 1, fromList},
		"toString": {1, 1, func(a []any) (any, error) { return show(a[0]), nil }},
		"b64enc":   text1(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"b64dec": text1(func(s string) string {
			data, err := base64.StdEncoding.DecodeString(s)
			if err != nil || !utf8.Valid(data) {
				return "illegal base64 data"
			}
			return string(data)
		}),
		"sha256sum": text1(func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"sha1sum":   text1(func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }),
		"kindOf": {1, 1, func(a []any) (any, error) {
			if a[0] == nil {
				return "invalid", nil
			}
			return reflect.TypeOf(a[0]).Kind().String(), nil
		}},
		"kindIs": {2, 2, func(a []any) (any, error) {
			return a[1] != nil && reflect.TypeOf(a[1]).Kind().String() == show(a[0]), nil
		}},
		"semverCompare": {2, 2, func(a []any) (any, error) {
			c, err := semver.NewConstraint(show(a[0]))
			if err != nil {
				return nil, errors.New("semverCompare: the constraint is not valid")
			}
			v, err := semver.NewVersion(show(a[1]))
			if err != nil {
				return nil, errors.New("semverCompare: the version is not valid")
			}
			return c.Check(v), nil
		}},
	}
}

func regexFunctions() map[string]function {
	with := func(n int, f func(re *regexp.Regexp, a []string) (any, error)) function {
		return function{n, n, func(a []any) (any, error) {
			if len(show(a[0])) > maxPattern {
				return nil, errTooLarge
			}
			re, err := regexp.Compile(show(a[0]))
			if err != nil {
				return nil, errors.New("the regular expression is not valid")
			}
			var rest []string
			for _, v := range a[1:] {
				rest = append(rest, show(v))
			}
			return f(re, rest)
		}}
	}
	replace := func(literal bool) function {
		return with(3, func(re *regexp.Regexp, a []string) (any, error) {
			// A template can name each group several times, and each group is at most the text.
			if n := len(re.FindAllStringIndex(a[0], -1)); n*len(a[1])*(1+strings.Count(a[1], "$")) > maxValueBytes*16 {
				return nil, errTooLarge
			}
			if literal {
				return re.ReplaceAllLiteralString(a[0], a[1]), nil
			}
			return re.ReplaceAllString(a[0], a[1]), nil
		})
	}
	match := with(2, func(re *regexp.Regexp, a []string) (any, error) { return re.MatchString(a[0]), nil })
	find := with(2, func(re *regexp.Regexp, a []string) (any, error) { return re.FindString(a[0]), nil })
	return map[string]function{
		"regexMatch": match, "mustRegexMatch": match, "regexFind": find, "mustRegexFind": find,
		"regexReplaceAll": replace(false), "mustRegexReplaceAll": replace(false), "regexReplaceAllLiteral": replace(true),
		"regexFindAll": with(3, func(re *regexp.Regexp, a []string) (any, error) {
			n, _ := strconv.Atoi(a[1])
			return texts2list(re.FindAllString(a[0], n)), nil
		}),
		"regexSplit": with(3, func(re *regexp.Regexp, a []string) (any, error) {
			n, _ := strconv.Atoi(a[1])
			return texts2list(re.Split(a[0], n)), nil
		}),
		"regexQuoteMeta": text1(regexp.QuoteMeta),
	}
}
