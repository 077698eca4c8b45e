//go:build !unix

package remote

import "os"

// flock does nothing. Without flock(2), only one process at a time may use a store.
func flock(*os.File, bool) error { return nil }
