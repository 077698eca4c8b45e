package starter

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Cluster is a cluster that the settings may name.
type Cluster struct {
	Name  string
	Roots []string // globs
}

// Clusters returns the clusters that a repository seems to be for, nil for fewer than two: the folders of a folder
// "clusters", where objects of Argo CD or Flux stand in each, else the destinations that objects of Argo CD name. Whether
// each root is then of its cluster, Unclear says.
func Clusters(l *report.Layout) []Cluster {
	if list := byFolder(l); len(list) > 1 {
		return list
	}
	if list := byDestination(l); len(list) > 1 {
		return list
	}
	return nil
}

// byFolder looks for folders clusters/NAME with files that deploy something.
func byFolder(l *report.Layout) []Cluster {
	folders := map[string]map[string]bool{} // the folder "clusters" -> names
	for _, r := range l.Roots {
		for _, file := range r.By {
			parts := strings.Split(file, "/")
			if i := slices.Index(parts, "clusters"); i >= 0 && i+2 < len(parts) {
				in := path.Join(parts[:i+1]...)
				if folders[in] == nil {
					folders[in] = map[string]bool{}
				}
				folders[in][parts[i+1]] = true
			}
		}
	}
	if len(folders) != 1 {
		return nil // several such folders: which of them are clusters, nobody says
	}
	var list []Cluster
	for in, names := range folders {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			list = append(list, Cluster{Name: name, Roots: []string{in + "/" + name + "/**"}})
		}
	}
	return list
}

// byDestination groups the files of objects of Argo CD by the clusters that these deploy to.
func byDestination(l *report.Layout) (list []Cluster) {
	files := map[string]map[string]bool{} // destination -> files
	for _, r := range l.Roots {
		for _, file := range r.By {
			if files[r.Destination] == nil {
				files[r.Destination] = map[string]bool{}
			}
			files[r.Destination][file] = true
		}
	}
	for _, destination := range slices.Sorted(maps.Keys(files)) {
		c := Cluster{Name: clusterName(destination)}
		for _, file := range slices.Sorted(maps.Keys(files[destination])) {
			glob := file
			// The highest folder that has files of no other destination.
			for dir := path.Dir(file); dir != "." && !holdsOther(files, destination, dir); dir = path.Dir(dir) {
				glob = dir + "/**"
			}
			if !slices.Contains(c.Roots, glob) {
				c.Roots = append(c.Roots, glob)
			}
		}
		if slices.ContainsFunc(list, func(other Cluster) bool { return other.Name == c.Name }) {
			return nil // two of one name: somebody has to find others
		}
		list = append(list, c)
	}
	return list
}

// holdsOther reports whether a folder has files of another destination.
func holdsOther(files map[string]map[string]bool, destination, dir string) bool {
	for other, list := range files {
		if other == destination {
			continue
		}
		for file := range list {
			if strings.HasPrefix(file, dir+"/") {
				return true
			}
		}
	}
	return false
}

// clusterName is what a destination is called: its name, or the host of its address.
func clusterName(destination string) string {
	if destination == "" {
		return "in-cluster" // as Argo CD has it
	}
	if u, err := url.Parse(destination); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return destination
}

// Deployer returns the name of a root that would deploy what is written to a folder, given the layout before and after;
// empty for none. What stands in the folder alone, and is deployed by nobody, deploys nothing.
func Deployer(folder string, before, after *report.Layout) string {
	known := map[string]report.LaidRoot{}
	for _, l := range []*report.Layout{before, after} {
		for _, r := range l.Roots {
			known[r.Name] = r
		}
	}
	for _, name := range after.Reached {
		r, ok := known[name]
		if !ok || len(r.By) > 0 || r.Path != folder && !strings.HasPrefix(r.Path, folder+"/") {
			return name
		}
	}
	return ""
}

// Unclear says why clusters cannot be proposed, given the layout before, and that with the settings that name them; empty
// where each root that somebody deploys is of a cluster, and those of a cluster are deployed to one.
func Unclear(list []Cluster, before, after *report.Layout) string {
	if len(list) == 0 {
		return ""
	}
	if len(after.Problems) > 0 {
		return after.Problems[0].Message
	}
	known, used, destinations := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, r := range after.Roots {
		known[r.Name] = true
		if len(r.By) > 0 && len(r.Clusters) == 0 {
			return fmt.Sprintf("%s would belong to none of them", r.Name)
		}
		for _, c := range r.Clusters {
			if to, seen := destinations[c]; seen && to != r.Destination && r.Destination != "" && to != "" {
				return fmt.Sprintf("%s is deployed to %s, others of %s to %s", r.Name, r.Destination, c, to)
			}
			used[c] = true
			if r.Destination != "" {
				destinations[c] = r.Destination
			}
		}
	}
	for _, c := range list {
		if !used[c.Name] {
			return fmt.Sprintf("no root would belong to %s", c.Name)
		}
	}
	for _, r := range before.Roots {
		if !known[r.Name] {
			return fmt.Sprintf("%s would no longer be a root", r.Name)
		}
	}
	return ""
}
