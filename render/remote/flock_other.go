//go:build !unix

package remote

import "os"

// Flock does nothing: where there is no flock(2) one process at a time may use a store.
func Flock(*os.File, bool) error { return nil }
