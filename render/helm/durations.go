package helm

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"
)

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
