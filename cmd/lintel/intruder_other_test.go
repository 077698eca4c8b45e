//go:build !linux

package main

func actAsIntruder() int { return 1 }
