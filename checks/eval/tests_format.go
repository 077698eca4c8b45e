package eval

import (
	"github.com/lintel-bot/lintel/checks/report"
)

// test is one document of a test file (apis/v1alpha1/test.go and test_result.go of Kyverno). Payloads, responses
// and the other fields that are decoded to anything belong to policies that are not evaluated before merge.
type test struct {
	APIVersion       string        `json:"apiVersion"`
	Kind             string        `json:"kind"`
	Metadata         any           `json:"metadata"`
	Policies         []string      `json:"policies"`
	Resources        []string      `json:"resources"`
	TargetResources  []string      `json:"targetResources"`
	ParamResources   []string      `json:"paramResources"`
	Exceptions       []string      `json:"exceptions"`
	Variables        string        `json:"variables"`
	Values           *Values       `json:"values"` // wins over Variables
	UserInfo         string        `json:"userinfo"`
	Context          string        `json:"context"`
	ClusterResources []string      `json:"clusterResources"`
	JSONPayload      any           `json:"jsonPayload"`
	JSONPayloads     any           `json:"jsonPayloads"`
	HTTPPayloads     any           `json:"httpPayloads"`
	EnvoyPayloads    any           `json:"envoyPayloads"`
	APICallResponses any           `json:"apiCallResponses"`
	GlobalContext    any           `json:"globalContextEntries"`
	Checks           any           `json:"checks"`
	Results          []expectation `json:"results"`
}

// expectation is one entry of "results".
type expectation struct {
	Policy                string        `json:"policy"`
	Rule                  string        `json:"rule"`
	Result                report.Result `json:"result"`
	Kind                  string        `json:"kind"`
	Resources             []string      `json:"resources"` // "name" or "namespace/name"
	ResourceSpecs         any           `json:"resourceSpecs"`
	PatchedResources      string        `json:"patchedResources"`
	GeneratedResource     string        `json:"generatedResource"`
	GeneratedResources    []string      `json:"generatedResources"`
	CloneSourceResource   string        `json:"cloneSourceResource"`
	FailOnMissing         bool          `json:"failOnMissingResources"`
	Operation             string        `json:"operation"`
	ValidatingPolicy      bool          `json:"isValidatingPolicy"`
	MutatingPolicy        bool          `json:"isMutatingPolicy"`
	GeneratingPolicy      bool          `json:"isGeneratingPolicy"`
	DeletingPolicy        bool          `json:"isDeletingPolicy"`
	ImageValidatingPolicy bool          `json:"isImageValidatingPolicy"`
	ValidatingAdmission   bool          `json:"isValidatingAdmissionPolicy"`
	MutatingAdmission     bool          `json:"isMutatingAdmissionPolicy"`
}

// canExpect reports whether a test can expect a result.
func canExpect(r report.Result) bool {
	switch r {
	case report.Error, report.Fail, report.Pass, report.Skip, report.Warn:
		return true
	}
	return false
}
