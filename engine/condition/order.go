package condition

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// ordered compares numbers, durations, quantities and semantic versions.
func ordered(accepts func(order int) bool) operator {
	return func(value any) test {
		return func(key any) bool {
			order, ok := compare(key, value)
			return ok && accepts(order)
		}
	}
}

// compare orders a key and a value. It returns false if they cannot be ordered.
func compare(key, value any) (order int, ok bool) {
	if k, v, ok := seconds(key, value); ok {
		return cmp.Compare(k, v), true
	}
	if k, ok := jmespath.Number(key); ok {
		return compareNumber(k, value)
	}
	text, ok := key.(string)
	if !ok {
		return 0, false
	}
	other, isText := value.(string)
	if isText {
		if k, ok := pattern.ParseQuantity(text); ok {
			if v, ok := pattern.ParseQuantity(other); ok {
				return k.Cmp(v), true
			}
		}
	}
	if n, ok := parseNumber(text); ok {
		if k, v, ok := seconds(n, value); ok {
			return cmp.Compare(k, v), true // the text of a number is one of seconds, too
		}
		return compareNumber(n, value)
	}
	if isText {
		return compareVersions(text, other)
	}
	return 0, false
}

func compareNumber(key float64, value any) (int, bool) {
	v, ok := jmespath.Number(value)
	if text, isText := value.(string); isText {
		v, ok = parseNumber(text)
	}
	if !ok || math.IsNaN(key) || math.IsNaN(v) {
		return 0, false
	}
	return cmp.Compare(key, v), true
}

func parseNumber(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// compareVersions orders full semantic versions, which have major, minor and patch.
func compareVersions(key, value string) (int, bool) {
	const limit = 256 // no version is longer
	if len(key) > limit || len(value) > limit || !strings.Contains(key, ".") {
		return 0, false
	}
	k, err := semver.StrictNewVersion(key)
	if err != nil {
		return 0, false
	}
	v, err := semver.StrictNewVersion(value)
	if err != nil {
		return 0, false
	}
	return k.Compare(v), true
}

// seconds parses key and value as durations if at least one of them is a duration with a unit; a number on the other
// side means seconds.
func seconds(key, value any) (k, v float64, ok bool) {
	k, keyHasUnit := withUnit(key)
	v, valueHasUnit := withUnit(value)
	switch {
	case keyHasUnit && valueHasUnit:
		return k, v, true
	case keyHasUnit:
		v, ok = wholeSeconds(value)
	case valueHasUnit:
		k, ok = wholeSeconds(key)
	}
	return k, v, ok
}

func withUnit(value any) (float64, bool) {
	text, ok := value.(string)
	if !ok || text == "0" {
		return 0, false
	}
	d, ok := pattern.ParseDuration(text)
	return d.Seconds(), ok
}

// wholeSeconds returns a number of seconds without its fraction, which Kyverno drops.
func wholeSeconds(value any) (float64, bool) {
	n, ok := jmespath.Number(value)
	return math.Trunc(n), ok
}

// durations compares durations and numbers of seconds: the deprecated Duration operators.
func durations(accepts func(order int) bool) operator {
	return func(value any) test {
		v, valid := duration(value)
		return func(key any) bool {
			k, ok := duration(key)
			return ok && valid && accepts(cmp.Compare(k, v))
		}
	}
}

func duration(value any) (float64, bool) {
	if text, ok := value.(string); ok {
		d, ok := pattern.ParseDuration(text)
		return d.Seconds(), ok
	}
	return wholeSeconds(value)
}
