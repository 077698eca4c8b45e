// Package generating is what the commands have in common that write the tables of the checks: they read modules of
// Kubernetes, one version of each after the other.
package generating

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// Minors calls read with the folder of a module for each minor version of Kubernetes that the arguments of the command
// name, the first and the last. format is that of the module with its version: "k8s.io/api@v0.%d.0". The Go module proxy
// has them. Errors are those of the arguments, of the go command, and of read.
func Minors(format string, read func(minor int, dir string) error) (first, last int, err error) {
	if len(os.Args) != 3 {
		return 0, 0, errors.New("usage: generate FIRST LAST (minor versions)")
	}
	first, wrong := strconv.Atoi(os.Args[1])
	last, err = strconv.Atoi(os.Args[2])
	if err := errors.Join(wrong, err); err != nil {
		return 0, 0, err
	}
	for minor := first; minor <= last; minor++ {
		module := fmt.Sprintf(format, minor)
		dir, err := download(module)
		if err == nil {
			err = read(minor, dir)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", module, err)
		}
	}
	return first, last, nil
}

// download brings a module and returns its folder.
func download(module string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Stderr = os.TempDir(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var at struct{ Dir string }
	return at.Dir, json.Unmarshal(out, &at)
}
