//go:build !unix

package queue

import (
	"fmt"
	"os"
)

// lockFile only opens the file: without flock(2) the operator has to see to it that no two servers use one folder.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory is not writable: %w", withoutPath(err))
	}
	return f, nil
}
