package admission

import (
	"slices"
	"strings"
)

// Authenticated is the group of every user that the API server knows.
const Authenticated = "system:authenticated"

// Completed returns the user with the groups that the API server adds for every authenticated user
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/). The zero value counts as an authenticated
// user, too, since nobody else reaches admission.
func (u UserInfo) Completed() UserInfo {
	u.Groups = slices.Clone(u.Groups)
	add := func(group string) {
		if !slices.Contains(u.Groups, group) {
			u.Groups = append(u.Groups, group)
		}
	}
	if u.Username == "system:anonymous" {
		add("system:unauthenticated")
		return u
	}
	if account, ok := strings.CutPrefix(u.Username, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(account, ":")
		add("system:serviceaccounts")
		add("system:serviceaccounts:" + namespace)
	}
	add(Authenticated)
	return u
}
