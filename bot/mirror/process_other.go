//go:build !unix

package mirror

import (
	"os"
	"os/exec"
)

// group does nothing: without process groups only git itself is killed.
func group(*exec.Cmd) {}

// flock always succeeds: without file locks, one process a folder is all that is supported.
func flock(*os.File) (bool, error) { return true, nil }
