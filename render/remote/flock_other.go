//go:build !unix

package remote

import "os"

// Flock does nothing. Without flock(2), only one process at a time may use a store.
func Flock(*os.File, bool) error { return nil }
