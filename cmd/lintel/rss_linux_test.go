package main

import (
	"os"
	"syscall"
)

// maxRSS is the peak memory of an ended process, its children not counted, in bytes (getrusage(2)).
func maxRSS(s *os.ProcessState) float64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(usage.Maxrss) * 1024
}
