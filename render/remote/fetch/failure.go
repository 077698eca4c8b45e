package fetch

import (
	"errors"
	"fmt"

	"github.com/lintel-bot/lintel/render/remote"
)

// broken returns a failure that the wanted thing itself causes: it does not exist, or is not what it has to be.
func broken(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Broken: true}
}

// undecided returns a failure that says nothing about the wanted thing: credentials, the list of allowed sources, no
// answer, limits.
func undecided(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...)}
}

// transient returns a failure that may be over a while later: the source does not answer, or reports an error of its
// own.
func transient(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Passing: true}
}

// denied returns a failure that depends on who asks: the asker has no permission.
func denied(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Own: true}
}

// failureOf returns the failure in an error, nil if it has none.
func failureOf(err error) *remote.Failure {
	f, _ := errors.AsType[*remote.Failure](err)
	return f
}
