package worker

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
)

// everyone is who may approve where neither the settings nor CODEOWNERS name anybody.
const everyone = "anyone with write access"

func (d *decision) approvers(owners []string) []string {
	var out []string
	for _, u := range d.rules.Users {
		out = append(out, "@"+strings.TrimPrefix(u, "@"))
	}
	for _, t := range d.rules.Teams {
		out = append(out, "@"+strings.TrimPrefix(t, "@"))
	}
	if out = append(out, owners...); len(out) == 0 {
		return []string{everyone}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allowed reports whether a user is among those who may approve: the users and teams of the settings and the
// owners of the file. Where there is none of them, it takes write access. Bots may approve only if the
// settings name them, because the author of a change could make one approve by a workflow.
func (d *decision) allowed(ctx context.Context, login string, owners []string) (bool, error) {
	for _, u := range d.rules.Users {
		if strings.EqualFold(strings.TrimPrefix(u, "@"), login) {
			return true, nil
		}
	}
	if strings.HasSuffix(login, "[bot]") {
		return false, nil
	}
	for _, t := range d.rules.Teams {
		if member, err := d.member(ctx, strings.TrimPrefix(t, "@"), login); err != nil || member {
			return member, err
		}
	}
	if len(owners) == 0 {
		if len(d.rules.Users) > 0 || len(d.rules.Teams) > 0 {
			return false, nil
		}
		return d.writes(ctx, login)
	}
	owns, err := d.owns(ctx, owners, login)
	if err != nil || !owns {
		return false, err
	}
	// Code owners must have write access to count as such on GitHub.
	return d.writes(ctx, login)
}

func (d *decision) owns(ctx context.Context, owners []string, login string) (bool, error) {
	for _, o := range owners {
		name, ok := strings.CutPrefix(o, "@")
		if !ok {
			continue // an address: GitHub's API does not tell whose it is
		}
		if strings.Contains(name, "/") {
			if member, err := d.member(ctx, name, login); err != nil || member {
				return member, err
			}
		} else if strings.EqualFold(name, login) {
			return true, nil
		}
	}
	return false, nil
}

// member asks for a membership once. A team that the App cannot see has no members.
func (d *decision) member(ctx context.Context, team, login string) (bool, error) {
	key := strings.ToLower(team + "\n" + login)
	if known, ok := d.teams[key]; ok {
		return known, nil
	}
	member, err := d.client.TeamMember(ctx, d.repo, team, login)
	if err != nil && !forge.IsGone(err) {
		return false, err
	}
	d.teams[key] = member && err == nil
	return d.teams[key], nil
}

func (d *decision) writes(ctx context.Context, login string) (bool, error) {
	key := strings.ToLower(login)
	permission, ok := d.permissions[key]
	if !ok {
		var err error
		if permission, err = d.client.Permission(ctx, d.repo, login); forge.IsGone(err) {
			permission = "none"
		} else if err != nil {
			return false, err
		}
		d.permissions[key] = permission
	}
	return permission == "write" || permission == "admin", nil
}
