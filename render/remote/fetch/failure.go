package fetch

import (
	"errors"
	"fmt"

	"github.com/lintel-bot/lintel/render/remote"
)

// broken is a failure of what was asked for: it does not exist, or is not what it has to be.
func broken(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Broken: true}
}

// undecided is a failure that says nothing about what was asked for: credentials, the allow-list, no answer, limits.
func undecided(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...)}
}

// transient is a failure that may be over a while later: the source does not answer, or says that it has trouble.
func transient(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Passing: true}
}

// denied is a failure that is about who asks: what they may have.
func denied(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Own: true}
}

// failureOf returns the failure in an error, nil where there is none.
func failureOf(err error) *remote.Failure {
	var f *remote.Failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}
