//go:build !unix

package mirror

import "os"

// flock always succeeds: without file locks, one process a folder is all that is supported.
func flock(*os.File) (bool, error) { return true, nil }
