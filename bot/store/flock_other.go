//go:build !unix

package store

import "os"

func flock(*os.File) error { return nil }
