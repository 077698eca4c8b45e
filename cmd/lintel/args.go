package main

import (
	"slices"
	"strings"
)

// repeatFlags lets the repeatable flags of eval take several values in a row, as a shell produces from "-p
// policies/*.yaml": it inserts the flag before each further value. The arguments of other commands are not changed.
func repeatFlags(args []string) []string {
	if len(args) == 0 || args[0] != "eval" {
		return args
	}
	repeatable := []string{"-p", "--policy", "-r", "--resource", "-e", "--exception", "--cluster", "--old"}
	out := []string{args[0]}
	flag, values := "", 0
	for i, a := range args[1:] {
		switch {
		case a == "--":
			return append(out, args[1+i:]...)
		case a != "-" && strings.HasPrefix(a, "-"):
			flag, values = "", 0
			if slices.Contains(repeatable, a) {
				flag = a
			}
		case flag != "":
			if values++; values > 1 {
				out = append(out, flag)
			}
		}
		out = append(out, a)
	}
	return out
}
