package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes as a flag: 1048576, 512MiB, 2GiB.
type size int64

type unit struct {
	name  string
	bytes int64
}

func units() []unit {
	return []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
}

// String implements pflag.Value.
func (s *size) String() string {
	text := strconv.FormatInt(int64(*s), 10)
	for _, u := range units() {
		if *s > 0 && int64(*s)%u.bytes == 0 {
			text = strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return text
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	factor := int64(1)
	for _, u := range units() {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, factor = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return errors.New("not a size such as 512MiB or 2GiB")
	}
	*s = size(n * factor)
	return nil
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
