package main

import (
	"errors"
	"regexp"
	"strings"
)

// login is what GitHub allows, or a little more.
var login = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// parseAccounts returns which accounts a list names, nil for an empty one. GitHub tells logins apart without their case.
func parseAccounts(list string) (func(string) bool, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !login.MatchString(name) {
			return nil, errors.New("LINTEL_ACCOUNTS must be names of organizations and users, separated by commas")
		}
		named[strings.ToLower(name)] = true
	}
	return func(login string) bool { return named[strings.ToLower(login)] }, nil
}
