package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// conversions are functions of Helm's engine that sprig does not have. Helm does not export them; a test compares each
// with the engine's.
var conversions = template.FuncMap{
	"toYaml":        func(v any) string { return strings.TrimSuffix(quiet(yaml.Marshal(v)), "\n") },
	"mustToYaml":    func(v any) string { return strings.TrimSuffix(loud(yaml.Marshal(v)), "\n") },
	"toYamlPretty":  func(v any) string { return strings.TrimSuffix(quiet(prettyYAML(v)), "\n") },
	"fromYaml":      readMap(fromYAML),
	"fromYamlArray": readList(fromYAML),
	"toJson":        func(v any) string { return quiet(json.Marshal(v)) },
	"mustToJson":    func(v any) string { return loud(json.Marshal(v)) },
	"fromJson":      readMap(json.Unmarshal),
	"fromJsonArray": readList(json.Unmarshal),
	"toToml":        toTOML,
	"mustToToml":    func(v any) string { return loud(encodeTOML(v)) },
	"fromToml":      readMap(toml.Unmarshal),
	"include":       func(string, any) (string, error) { return "", nil },
	"tpl":           func(string, any) (string, error) { return "", nil },
}

// quiet returns an empty text for an error, as Helm does.
func quiet(data []byte, err error) string {
	if err != nil {
		return ""
	}
	return string(data)
}

// loud panics for an error, which text/template turns into an error of the call.
func loud(data []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(data)
}

func prettyYAML(v any) ([]byte, error) {
	var data bytes.Buffer
	encoder := goyaml.NewEncoder(&data)
	encoder.SetIndent(2)
	err := encoder.Encode(v)
	return data.Bytes(), err
}

func fromYAML(data []byte, into any) error { return yaml.Unmarshal(data, into) }

// readMap returns a function that reads a map. It puts an error into the map, as Helm does.
func readMap(read func([]byte, any) error) func(text string) map[string]any {
	return func(text string) map[string]any {
		m := map[string]any{}
		if err := read([]byte(text), &m); err != nil {
			m["Error"] = err.Error()
		}
		return m
	}
}

// readList is readMap for a list.
func readList(read func([]byte, any) error) func(text string) []any {
	return func(text string) []any {
		list := []any{}
		if err := read([]byte(text), &list); err != nil {
			list = []any{err.Error()}
		}
		return list
	}
}

func encodeTOML(v any) ([]byte, error) {
	var data bytes.Buffer
	err := toml.NewEncoder(&data).Encode(v)
	return data.Bytes(), err
}

func toTOML(v any) string {
	data, err := encodeTOML(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// durations are the functions of Helm 4.3 for durations. A value that is not a duration counts as zero.
var durations = template.FuncMap{
	"mustToDuration":       mustToDuration,
	"durationSeconds":      func(v any) float64 { return span(v).Seconds() },
	"durationMilliseconds": func(v any) int64 { return span(v).Milliseconds() },
	"durationMicroseconds": func(v any) int64 { return span(v).Microseconds() },
	"durationNanoseconds":  func(v any) int64 { return span(v).Nanoseconds() },
	"durationMinutes":      func(v any) float64 { return span(v).Minutes() },
	"durationHours":        func(v any) float64 { return span(v).Hours() },
	"durationDays":         func(v any) float64 { return span(v).Hours() / 24 },
	"durationWeeks":        func(v any) float64 { return span(v).Hours() / 24 / 7 },
	"durationRoundTo":      func(v, to any) time.Duration { return span(v).Round(span(to)) },
	"durationTruncateTo":   func(v, to any) time.Duration { return span(v).Truncate(span(to)) },
}

func mustToDuration(v any) time.Duration {
	d, err := toDuration(v)
	if err != nil {
		panic(err)
	}
	return d
}

func span(v any) time.Duration {
	d, err := toDuration(v)
	if err != nil {
		return 0
	}
	return d
}

var errDuration = errors.New("not a duration")

// toDuration converts a text for time.ParseDuration, or a number of seconds, which may be a text.
func toDuration(v any) (time.Duration, error) {
	switch v := v.(type) {
	case time.Duration:
		return v, nil
	case string:
		text := strings.TrimSpace(v)
		if d, err := time.ParseDuration(text); err == nil {
			return d, nil
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, errDuration
		}
		return ofSeconds(seconds)
	}
	const most = math.MaxInt64 / int64(time.Second)
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		if n.Int() > most || n.Int() < -most {
			return 0, errDuration
		}
		return time.Duration(n.Int()) * time.Second, nil
	case n.CanUint():
		if n.Uint() > uint64(most) {
			return 0, errDuration
		}
		return time.Duration(n.Uint()) * time.Second, nil
	case n.CanFloat():
		return ofSeconds(n.Float())
	}
	return 0, errDuration
}

func ofSeconds(seconds float64) (time.Duration, error) {
	nanos := seconds * float64(time.Second)
	if math.IsNaN(nanos) || nanos > math.MaxInt64 || nanos < math.MinInt64 {
		return 0, errDuration
	}
	return time.Duration(nanos), nil
}
