package settings

import "go.yaml.in/yaml/v3"

// Block says what fails a check besides new violations of enforced rules.
type Block struct {
	Existing bool `yaml:"existing"` // pre-existing violations
	Audit    bool `yaml:"audit"`    // violations of rules that only audit
}

// The short forms of Block.
const (
	blockNew = "new" // the zero value
	blockAll = "all" // Existing
)

// UnmarshalYAML decodes a map or a short form, which formProblems has validated.
func (b *Block) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*b = Block{Existing: n.Value == blockAll}
		return nil
	}
	type plain Block
	return n.Decode((*plain)(b))
}

// Mode says whether findings fail a check.
type Mode string

// The modes.
const (
	ModeEnforce  Mode = "enforce"  // findings fail the check; the default
	ModeAdvisory Mode = "advisory" // for a roll-out: the check says what would fail, and is neutral at most
)
