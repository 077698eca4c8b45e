package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/gitops"
)

// turned returns a message and a field if an object of Argo CD or Flux changed its source from the present state of
// this repository to something else, which is not checked, or a cluster its address. Both are empty if it did not.
func turned(repo gitops.RepoNames, old, now admission.Object) (words, field string) {
	id := admission.IdentityOf(now)
	switch id.Group + "/" + id.Kind {
	case "source.toolkit.fluxcd.io/GitRepository":
		from, to := mapAt(old, "/spec"), mapAt(now, "/spec")
		if url, _ := from["url"].(string); !repo.Match(url) {
			return "", ""
		}
		of, was := revisionOf(old)
		key, is := revisionOf(now)
		branch := func(key string) bool { return key == "branch" || key == "name" }
		if is != "" && (of != key || was != is) && (!branch(key) || !repo.Current(is) || branch(of) && was != is && repo.Current(was)) {
			return turnedTo("revision", was, is), "/spec/ref/" + key
		}
		return turnedAddress(repo, "/spec", from, to)
	case "argoproj.io/Application", "argoproj.io/ApplicationSet":
		return turnedAddress(repo, "/spec", old["spec"], now["spec"])
	case "/Secret":
		for _, key := range []string{"/stringData", "/data"} {
			was, had := mapAt(old, key)["server"].(string)
			if is, has := mapAt(now, key)["server"].(string); had && has && is != was && mapAt(now, "/metadata/labels")[gitops.ClusterSecret] == "cluster" {
				return "the address of this cluster changes: what Argo CD deploys there is not compared with what the new address has",
					key + "/server"
			}
		}
	}
	return "", ""
}

// revisionOf returns the field of a GitRepository's reference that counts, and what it says, without the prefix of branches.
func revisionOf(source admission.Object) (key, revision string) {
	for _, key := range gitops.RevisionFields {
		if text, _ := mapAt(source, "/spec/ref")[key].(string); text != "" {
			return key, strings.TrimPrefix(text, "refs/heads/")
		}
	}
	return "", ""
}

// turnedAddress finds an address of this repository that changed to that of another repository.
func turnedAddress(repo gitops.RepoNames, at string, old, now any) (words, field string) {
	switch now := now.(type) {
	case map[string]any:
		old, _ := old.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(now)) {
			was, had := old[key].(string)
			is, has := now[key].(string)
			pointer := at + "/" + jsonpointer.Escape(key)
			if address := key == "url" || key == "repoURL"; address && had && has && repo.Match(was) && !gitops.SameRepository(was, is) {
				return turnedTo("repository", was, is), pointer
			}
			if words, field = turnedAddress(repo, pointer, old[key], now[key]); words != "" {
				return words, field
			}
		}
	case []any:
		old, _ := old.([]any)
		for i := range min(len(old), len(now)) {
			if words, field = turnedAddress(repo, fmt.Sprintf("%s/%d", at, i), old[i], now[i]); words != "" {
				return words, field
			}
		}
	}
	return "", ""
}

func turnedTo(what, was, is string) string {
	from := ""
	if was != "" {
		from = fmt.Sprintf("from %.200s ", was)
	}
	return fmt.Sprintf("the change switches this source %sto another %s, %.200s: what is deployed from there is not "+
		"checked", from, what, is)
}
