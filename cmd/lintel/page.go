package main

import (
	"context"
	"net/url"
	"path"
	"strings"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// pageOptions returns what the page of a local check shows besides the report. Links lead to GitHub if the remote
// "origin" is there and commits are checked: uncommitted files are not on GitHub.
func (r *repository) pageOptions(ctx context.Context, change *report.Change, head files) output.PageOptions {
	var o output.PageOptions
	web := webAddress(r.origin(ctx)) // none: no links
	commit := func(label, id string) {
		if id == "" {
			return
		}
		link := output.Link{Text: id[:min(len(id), 10)]}
		if web != "" {
			link.Address = web + "/commit/" + id
		}
		o.Facts = append(o.Facts, output.Fact{Label: label, Items: []output.Link{link}, Code: true})
	}
	if head == committed {
		commit("Head", change.Head)
	} else {
		o.Facts = append(o.Facts, output.Fact{Label: "Head", Items: []output.Link{{Text: head.String()}}})
	}
	commit("Base", change.Base)
	if change.Rules != change.Head && !change.OnlyDifferences {
		commit("Policies from", change.Rules)
	}
	if o.Name.Text = "a local repository"; web != "" {
		u, _ := url.Parse(web) // which it was made of
		o.Name = output.Link{Text: strings.TrimPrefix(u.Path, "/"), Address: web}
		if head == committed {
			o.BlobURL = output.Blob(web, change.Head)
		}
		if change.Base != "" {
			o.BaseURL = output.Blob(web, change.Base)
		}
		if head == committed || change.Rules != change.Head {
			o.PolicyURL = output.Blob(web, change.Rules)
		}
	}
	return o
}

// webAddress returns the web address of a repository on GitHub, without the parts of a remote that are for programs. It
// is empty for other hosts, since the form of their links to lines is not known.
func webAddress(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	switch u.Scheme {
	case "https", "ssh", "git", "git+ssh":
	default:
		return ""
	}
	if host == "ssh.github.com" {
		host = "github.com" // https://docs.github.com/en/authentication/troubleshooting-ssh/using-ssh-over-the-https-port
	}
	if host != "github.com" && !strings.HasPrefix(host, "github.") && !strings.HasSuffix(host, ".ghe.com") {
		return ""
	}
	name := strings.TrimSuffix(strings.Trim(path.Clean(u.Path), "/"), ".git")
	if strings.Count(name, "/") != 1 {
		return ""
	}
	return (&url.URL{Scheme: "https", Host: host, Path: "/" + name}).String()
}
