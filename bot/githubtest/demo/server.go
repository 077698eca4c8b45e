package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

const (
	readyPoll = 20 * time.Millisecond
	stopGrace = 10 * time.Second
)

// server is "lintel serve" as a child process with its own data folder.
type server struct {
	url  string
	end  context.CancelFunc // asks it to end
	dir  string
	log  bytes.Buffer // to be read when it has ended
	done chan error
}

// startServer starts the program on a free port of the loopback address and waits until it is ready.
func startServer(ctx context.Context, binary string, hub *githubtest.Server) (*server, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the program is not built, see \"make build\": %w", err)
	}
	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + listen, done: make(chan error, 1)}
	if s.dir, err = os.MkdirTemp("", "lintel-demo-"); err != nil {
		return nil, err
	}
	key := filepath.Join(s.dir, "app.pem")
	if err := os.WriteFile(key, hub.App().PrivateKey, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	running, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(running, binary, "serve")
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, stopGrace
	cmd.Env = append(os.Environ(),
		"LINTEL_LISTEN="+listen,
		"LINTEL_DATA_DIR="+filepath.Join(s.dir, "data"),
		"LINTEL_GITHUB_URL="+hub.URL(),
		"LINTEL_GITHUB_APP_ID="+strconv.FormatInt(hub.App().ID, 10),
		"LINTEL_GITHUB_PRIVATE_KEY_FILE="+key,
		"LINTEL_GITHUB_WEBHOOK_SECRET="+hub.App().Secret,
	)
	cmd.Stdout, cmd.Stderr, s.end = &s.log, &s.log, end
	go func() { s.done <- cmd.Run() }()
	if err := s.waitReady(ctx); err != nil {
		err = errors.Join(err, s.stop())
		return nil, fmt.Errorf("%w\n\nlintel serve logged:\n%s", err, bytes.TrimSpace(s.log.Bytes()))
	}
	return s, nil
}

// freeAddress returns a loopback address with an unused port.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// waitReady polls /readyz until the status is 200.
func (s *server) waitReady(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case err := <-s.done:
			s.done <- err // for stop
			return errors.New("lintel serve ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("lintel serve is not ready: %w", ctx.Err())
		}
	}
}

// stop ends the program, by a kill if necessary, and removes its data.
func (s *server) stop() error {
	s.end()
	err := <-s.done
	if errors.Is(err, context.Canceled) { // it ended well, as it was asked to
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("lintel serve ended with %w", err)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
