//go:build !unix

package datadir

import "os"

func flock(*os.File) error { return nil }
