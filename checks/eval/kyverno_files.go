package eval

import (
	"fmt"

	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// ParseValues reads a values file, strictly: an unknown field is a problem.
func ParseValues(src rules.File) (*Values, []policy.Problem) {
	var file struct {
		Header
		Values
	}
	problems := parseFile(src, "Values", &file)
	return &file.Values, problems
}

// ParseUser reads a file of kind UserInfo of cli.kyverno.io (apis/v1alpha1/user_info.go of Kyverno), strictly.
func ParseUser(src rules.File) (settings.Requester, []policy.Problem) {
	var file struct {
		Header
		Roles        []string           `json:"roles"`
		ClusterRoles []string           `json:"clusterRoles"`
		UserInfo     admission.UserInfo `json:"userInfo"`
	}
	problems := parseFile(src, "UserInfo", &file)
	return settings.Requester{Info: file.UserInfo, Roles: file.Roles, ClusterRoles: file.ClusterRoles}, problems
}

// Header are the fields that all files of cli.kyverno.io have. Kyverno only looks whether they are there.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   any    `json:"metadata"`
}

// parseFile decodes the one document of a file.
func parseFile(src rules.File, kind string, into any) []policy.Problem {
	docs, problems := src.Documents()
	switch {
	case len(problems) > 0:
		return problems
	case len(docs) == 0 || docs[0].APIVersion == "":
		return []policy.Problem{{Path: src.Path,
			Message: fmt.Sprintf("the file has no apiVersion and kind: write cli.kyverno.io/v1alpha1 and %s", kind)}}
	case len(docs) > 1:
		return []policy.Problem{docs[1].Problem("", "the file holds more than one document: keep the one of kind %s", kind)}
	}
	return policy.Decode(docs[0], into)
}
