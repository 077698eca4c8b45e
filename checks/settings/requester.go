package settings

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
)

// Requester is the author of a change as a user of the cluster.
type Requester struct {
	Info                admission.UserInfo
	Roles, ClusterRoles []string
}

// Requester maps the author's account and teams to a user of the cluster. An account that is not listed keeps its name,
// unless that is the name of the user of another account: then it has none. Every user is in the groups that all users of
// a cluster are in. Names of accounts are compared without regard to case, as on GitHub.
func (s *Settings) Requester(u report.User) Requester {
	r := Requester{Info: admission.UserInfo{Username: u.Login}}
	var mine Identity
	for account, i := range s.Identities.Users {
		if strings.EqualFold(account, u.Login) {
			mine = i
		} else if i.Username == u.Login {
			r.Info.Username = ""
		}
	}
	if i, listed := s.Identities.Users[u.Login]; listed {
		mine = i
	}
	add := func(i Identity) {
		if i.Username != "" {
			r.Info.Username = i.Username
		}
		r.Info.Groups = append(r.Info.Groups, i.Groups...)
		r.Roles = append(r.Roles, i.Roles...)
		r.ClusterRoles = append(r.ClusterRoles, i.ClusterRoles...)
	}
	for _, team := range u.Teams {
		i := s.Identities.Teams[team]
		i.Username = "" // a team is not a user
		add(i)
	}
	add(mine)
	r.Info = r.Info.Completed()
	for _, list := range []*[]string{&r.Info.Groups, &r.Roles, &r.ClusterRoles} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}

// Request returns an admission request of the requester, without objects.
func (r Requester) Request(operation admission.Operation) *admission.Request {
	return &admission.Request{Operation: operation, UserInfo: r.Info, Roles: r.Roles, ClusterRoles: r.ClusterRoles}
}
