package treetest

import (
	"io"
	"log"
	"os"
	"testing"
)

// Main runs the tests of a package without what kustomize prints about deprecated fields in every build: "func
// TestMain(m *testing.M) { treetest.Main(m) }". Failures and panics are printed as ever.
func Main(m *testing.M) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err == nil {
		os.Stderr = null
	}
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}
