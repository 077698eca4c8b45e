//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// On other systems, the child has only what Go provides: an almost empty environment, an http.Transport that refuses
// all requests, the soft memory limit, and the parent's deadline.

const signalCPU = syscall.Signal(0)

func processAttributes(bool) *syscall.SysProcAttr { return nil }
func namespacesRefused(error) bool                { return false }
func awaitExit(int) bool                          { return false }
func killGroup(p *os.Process)                     { _ = p.Kill() }
func signalOf(*os.ProcessState) syscall.Signal    { return 0 }
func limitResources(setup) error                  { return nil }
func renewProcessorTime(setup)                    {}
func confineFiles(setup) []string                 { return nil }
func filterCalls() error                          { return nil }
func lacksFilter(error) string                    { return "" }

func confineThread() []string {
	return []string{"namespaces, rules for files and a filter of system calls: only Linux has them"}
}

func onFirstThread() bool { return false }
