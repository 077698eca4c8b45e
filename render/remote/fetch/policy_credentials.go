package fetch

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/lintel-bot/lintel/render/remote"
)

// maxSecret is how large a file with credentials may be.
const maxSecret = 1 << 20

// credential names where the credentials for a prefix are. Exactly one file is set.
type credential struct {
	prefix                            string
	basicAuthFile, tokenFile, dockerF string
}

// authorization returns the value of an Authorization header.
func authorization(c *auth.Credential) string {
	if c.AccessToken != "" {
		return "Bearer " + c.AccessToken
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// Credential returns the operator's credentials for an address, nil where there are none: the longest prefix decides.
// The files are read each time, so that they can be renewed. The error does not name their content.
func (p *Policy) Credential(u *url.URL) (*auth.Credential, error) {
	address := remote.Comparable(u)
	for _, c := range p.credentials {
		if !strings.HasPrefix(address, c.prefix) {
			continue
		}
		got, err := c.read(u.Host)
		if err != nil {
			return nil, fmt.Errorf("the operator's credentials cannot be used: %w", err)
		}
		return got, nil
	}
	return nil, nil
}

func (c credential) read(host string) (*auth.Credential, error) {
	text, err := secret(cmp.Or(c.basicAuthFile, c.tokenFile, c.dockerF))
	switch {
	case err != nil:
		return nil, err
	case c.tokenFile != "":
		return &auth.Credential{AccessToken: text}, nil
	case c.dockerF != "":
		return docker([]byte(text), host)
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok {
		return nil, errors.New("the file must contain user:password")
	}
	return &auth.Credential{Username: user, Password: password}, nil
}

// secret reads a file with something secret in it. Its errors have no path.
func secret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch text := strings.TrimSpace(string(data)); {
	case err != nil:
		return "", errors.New("the file cannot be read")
	case len(data) > maxSecret:
		return "", errors.New("the file is too large")
	case text == "":
		return "", errors.New("the file is empty")
	default:
		return text, nil
	}
}

// docker reads the entry of a host from a configuration of docker. Credential helpers are programs and not started.
func docker(data []byte, host string) (*auth.Credential, error) {
	type entry struct {
		Auth          string `json:"auth"`
		Username      string `json:"username"`
		Password      string `json:"password"`
		IdentityToken string `json:"identitytoken"`
		RegistryToken string `json:"registrytoken"`
	}
	var config struct {
		Auths map[string]entry `json:"auths"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, errors.New("the file is not a Docker configuration")
	}
	for name, e := range config.Auths {
		if dockerHost(name) != dockerHost(host) {
			continue
		}
		c := &auth.Credential{Username: e.Username, Password: e.Password, RefreshToken: e.IdentityToken,
			AccessToken: e.RegistryToken}
		if e.Auth != "" {
			both, err := base64.StdEncoding.DecodeString(e.Auth)
			if err != nil {
				return nil, errors.New("the entry of the registry is not base64")
			}
			c.Username, c.Password, _ = strings.Cut(strings.TrimRight(string(both), "\x00"), ":")
		}
		return c, nil
	}
	return nil, errors.New("the Docker configuration has no entry for this registry")
}

// dockerHost is the host of an entry, whose key can be an old address.
func dockerHost(name string) string {
	_, rest, ok := strings.Cut(name, "://")
	if !ok {
		rest = name
	}
	host, _, _ := strings.Cut(strings.ToLower(rest), "/")
	switch host {
	case "index.docker.io", "registry-1.docker.io", "docker.io":
		return "docker.io"
	}
	return host
}
