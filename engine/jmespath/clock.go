package jmespath

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// timeFunctions work on times in RFC 3339 and durations as Go writes them
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#time_add). "Now" is an input.
func timeFunctions() []function {
	s := kindString
	return []function{
		{name: "time_now", run: func(c *call) (any, error) { return rfc3339(c.env.Now), nil }},
		{name: "time_now_utc", run: func(c *call) (any, error) { return rfc3339(c.env.Now.UTC()), nil }},
		{name: "time_since", params: []kind{s, s, s}, run: timeSince},
		{name: "time_parse", params: []kind{s, s}, run: timeParse},
		{name: "time_add", params: []kind{s, s}, run: withDuration(time.Time.Add)},
		{name: "time_truncate", params: []kind{s, s}, run: withDuration(time.Time.Truncate)},
		{name: "time_to_cron", params: []kind{s}, run: withTimes(func(t []time.Time) any {
			return fmt.Sprintf("%d %d %d %d %d", t[0].Minute(), t[0].Hour(), t[0].Day(), t[0].Month(), t[0].Weekday())
		})},
		{name: "time_utc", params: []kind{s}, run: withTimes(func(t []time.Time) any { return rfc3339(t[0].UTC()) })},
		{name: "time_diff", params: []kind{s, s}, run: withTimes(func(t []time.Time) any { return t[1].Sub(t[0]).String() })},
		{name: "time_before", params: []kind{s, s}, run: withTimes(func(t []time.Time) any { return t[0].Before(t[1]) })},
		{name: "time_after", params: []kind{s, s}, run: withTimes(func(t []time.Time) any { return t[0].After(t[1]) })},
		{name: "time_between", params: []kind{s, s, s}, run: withTimes(func(t []time.Time) any {
			return t[0].After(t[1]) && t[0].Before(t[2])
		})},
	}
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339) }

// withTimes parses all arguments as times in RFC 3339.
func withTimes(do func([]time.Time) any) func(*call) (any, error) {
	return func(c *call) (any, error) {
		times := make([]time.Time, len(c.args))
		for i := range c.args {
			var err error
			if times[i], err = c.time(time.RFC3339, i); err != nil {
				return nil, err
			}
		}
		return do(times), nil
	}
}

// withDuration parses a time and a duration and gives a time.
func withDuration(do func(time.Time, time.Duration) time.Time) func(*call) (any, error) {
	return func(c *call) (any, error) {
		t, err := c.time(time.RFC3339, 0)
		if err != nil {
			return nil, err
		}
		d, err := time.ParseDuration(c.str(1))
		if err != nil {
			return nil, c.fail("argument #2 is not a duration")
		}
		return rfc3339(do(t, d)), nil
	}
}

func (c *call) time(layout string, i int) (time.Time, error) {
	t, err := time.Parse(layout, c.str(i))
	if err != nil {
		return t, c.fail("argument #%d is not a time in the layout %q", i+1, layout)
	}
	return t, nil
}

// timeSince takes a layout (empty: RFC 3339), a start and an end (empty: now).
func timeSince(c *call) (any, error) {
	layout := cmp.Or(c.str(0), time.RFC3339)
	start, err := c.time(layout, 1)
	if err != nil {
		return nil, err
	}
	end := c.env.Now
	if c.str(2) != "" {
		if end, err = c.time(layout, 2); err != nil {
			return nil, err
		}
	}
	return end.Sub(start).String(), nil
}

// timeParse reads a time in a layout of Go; a layout that is a number says that the time is in seconds since 1970.
func timeParse(c *call) (any, error) {
	if _, err := strconv.ParseInt(c.str(0), 10, 64); err == nil {
		epoch, err := strconv.ParseInt(c.str(1), 10, 64)
		if err != nil {
			return nil, c.fail("argument #2 is not a number of seconds")
		}
		return rfc3339(time.Unix(epoch, 0).UTC()), nil
	}
	t, err := c.time(c.str(0), 1)
	if err != nil {
		return nil, err
	}
	return rfc3339(t), nil
}
