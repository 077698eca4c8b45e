package checks

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/admission"
)

// requester is the author of a change as the cluster would know them.
type requester struct {
	info                admission.UserInfo
	roles, clusterRoles []string
}

// user maps the author's account and teams by the settings. An account that is not listed is a user of the
// cluster by the same name.
func (s *Settings) user(u report.User) requester {
	r := requester{info: admission.UserInfo{Username: u.Login}}
	add := func(i Identity) {
		if i.Username != "" {
			r.info.Username = i.Username
		}
		r.info.Groups = append(r.info.Groups, i.Groups...)
		r.roles = append(r.roles, i.Roles...)
		r.clusterRoles = append(r.clusterRoles, i.ClusterRoles...)
	}
	for _, team := range u.Teams {
		i := s.Identities.Teams[team]
		i.Username = "" // a team is no user
		add(i)
	}
	add(s.Identities.Users[u.Login])
	for _, list := range []*[]string{&r.info.Groups, &r.roles, &r.clusterRoles} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r
}

func (r requester) request(operation admission.Operation) *admission.Request {
	return &admission.Request{Operation: operation, UserInfo: r.info, Roles: r.roles, ClusterRoles: r.clusterRoles}
}
