package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lintel-bot/lintel/render/remote"
)

// Credentials are what a server needs to be a GitHub App. They must not be logged.
type Credentials struct {
	GitHubURL     string `json:"github_url"` // the GitHub that knows the App
	AppID         int64  `json:"app_id"`
	Slug          string `json:"slug"`
	PrivateKey    string `json:"private_key"` // PEM
	WebhookSecret string `json:"webhook_secret"`
	// These are for the sign-in of readers. They are empty for an App that was registered by a version without sign-in.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

const (
	folderName     = "app"
	fileName       = "credentials.json"
	maxCredentials = 256 << 10
)

// ErrDamaged means that stored credentials cannot be used. They are never replaced without a notice, since their App
// may be installed.
var ErrDamaged = errors.New("the stored credentials of the App are damaged: restore " + folderName + "/" + fileName +
	" in the data directory, or remove it to register another App")

// LoadCredentials returns the credentials that a registration stored in the data directory, or nil if there are none.
// Errors contain neither the credentials nor the path.
func LoadCredentials(dataDir string) (*Credentials, error) {
	f, err := os.Open(filepath.Join(dataDir, folderName, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the stored credentials of the App cannot be read: %w", remote.WithoutPath(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil {
		return nil, fmt.Errorf("the stored credentials of the App cannot be read: %w", remote.WithoutPath(err))
	}
	return decodeCredentials(data)
}

func decodeCredentials(data []byte) (*Credentials, error) {
	var c Credentials
	if len(data) > maxCredentials || json.Unmarshal(data, &c) != nil || c.GitHubURL == "" || c.AppID <= 0 ||
		c.PrivateKey == "" || c.WebhookSecret == "" {
		return nil, ErrDamaged
	}
	return &c, nil
}

// storeCredentials stores the credentials so that they survive a power failure and only this user can read them.
func storeCredentials(dataDir string, c *Credentials) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = writeDurably(dataDir, fileName, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("storing the App's credentials: %w", remote.WithoutPath(err))
	}
	return nil
}

// probeDataDir checks that storeCredentials can write, because GitHub issues the credentials only once.
func probeDataDir(dataDir string) error {
	const name = "probe"
	err := writeDurably(dataDir, name, nil)
	if err == nil {
		err = os.Remove(filepath.Join(dataDir, folderName, name))
	}
	if err != nil {
		return fmt.Errorf("the App's credentials could not be stored in the data directory: %w", remote.WithoutPath(err))
	}
	return nil
}

// writeDurably replaces a file atomically, and waits until it is on disk.
func writeDurably(dataDir, name string, data []byte) (err error) {
	folder := filepath.Join(dataDir, folderName)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, name+"-*.tmp") // CreateTemp uses mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(folder, name))
	}
	if err == nil {
		err = errors.Join(syncFolder(folder), syncFolder(dataDir))
	}
	return err
}

// syncFolder writes the names in a folder to disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
