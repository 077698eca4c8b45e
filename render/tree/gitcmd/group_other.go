//go:build !unix

package gitcmd

import "os/exec"

// group does nothing: without process groups only git itself is killed.
func group(*exec.Cmd) {}
