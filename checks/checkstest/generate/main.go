// Command generate writes the tables of the built-in checks from modules of Kubernetes, one version of each after the
// other, as the Go module proxy has them:
//
//	go run ./checks/checkstest/generate lifecycle 20 37 > lifecycle.txt
//	go run ./checks/checkstest/generate types 25 37 > table.txt
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 4 {
		first, wrong := strconv.Atoi(os.Args[2])
		last, err := strconv.Atoi(os.Args[3])
		write, known := map[string]func(first, last int) error{"lifecycle": lifecycle, "types": types}[os.Args[1]]
		if known && wrong == nil && err == nil {
			if err := write(first, last); err != nil {
				log.Fatal(err)
			}
			return
		}
	}
	log.Fatal("usage: generate lifecycle|types FIRST LAST (minor versions of Kubernetes)")
}

// minors calls read with the folder of a module for each minor version of Kubernetes from first to last. format is that
// of the module with its version: "k8s.io/api@v0.%d.0".
func minors(format string, first, last int, read func(minor int, dir string) error) error {
	for minor := first; minor <= last; minor++ {
		module := fmt.Sprintf(format, minor)
		dir, err := download(module)
		if err == nil {
			err = read(minor, dir)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", module, err)
		}
	}
	return nil
}

// download fetches a module and returns its folder.
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
