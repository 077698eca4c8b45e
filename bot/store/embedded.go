package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lintel-bot/lintel/render/remote"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrInUse means that another process uses the folder of the embedded queue.
var ErrInUse = errors.New("another process uses this data directory")

// embedded is a NATS server inside this process that listens on no port.
type embedded struct {
	server *server.Server
	lock   *os.File
}

const (
	startTimeout = 30 * time.Second
	maxMemory    = 64 << 20 // leases only
	// maxStore is no real limit, since each stream has its own. A server with a lower limit than its streams require
	// creates no stream, and would not start after somebody lowered the limits of a Bucket.
	maxStore = 1 << 50
	// maxJobBytes bounds the jobs on disk.
	maxJobBytes = 4 << 30
)

func startEmbedded(dir string) (*embedded, error) {
	if dir == "" {
		return nil, errors.New("the embedded job queue needs a data directory")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", remote.WithoutPath(err))
	}
	// Two embedded servers on one folder would destroy each other's files.
	lock, err := remote.LockFile(filepath.Join(dir, "lock"), false)
	if errors.Is(err, remote.ErrLocked) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be used: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName:         "lintel",
		DontListen:         true,
		JetStream:          true,
		StoreDir:           dir,
		SyncAlways:         true, // an answered webhook must survive a power cut
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  maxStore,
		NoSigs:             true,
		NoLog:              true,
	})
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("the embedded job queue: %w", err)
	}
	e := &embedded{server: s, lock: lock}
	s.Start()
	if !s.ReadyForConnections(startTimeout) || !s.JetStreamEnabled() {
		e.stop()
		return nil, errors.New("the embedded job queue did not start; the data directory may be damaged or not writable")
	}
	return e, nil
}

func (e *embedded) stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	e.lock.Close()
}
