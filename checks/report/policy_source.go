package report

// PolicySource is where policies are written outside of the repository: below a path of another git repository.
type PolicySource struct {
	// Repository is "owner/name" on the host of the repository that is checked, or an address (https, ssh).
	Repository string `json:"repository" yaml:"repository"`
	Ref        string `json:"ref,omitempty" yaml:"ref"`   // a branch, a tag or a commit; empty: the default branch
	Path       string `json:"path,omitempty" yaml:"path"` // a file, a folder or a glob; empty: by kind, anywhere
}

// String is the source in a word: "octo-org/policies@v1//kyverno".
func (s PolicySource) String() string {
	out := s.Repository
	if s.Ref != "" {
		out += "@" + s.Ref
	}
	if s.Path != "" {
		out += "//" + s.Path
	}
	return out
}

// RuleSource is a repository that rules come from.
type RuleSource struct {
	Name string `json:"name"`          // its address
	Ref  string `json:"ref,omitempty"` // empty: the default branch
}

// PolicyFile is a file of policies that whoever asks for a check hands in.
type PolicyFile struct {
	Path string `json:"path"` // as findings name it
	Data []byte `json:"data"`
}
