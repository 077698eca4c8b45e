//go:build !linux

package box

func limits() string { return "" }
