// Package lazy has what is made when it is first used, so that a program that does not need it starts no slower.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a regular expression once. It panics for one that is not valid.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
