package settings

import "go.yaml.in/yaml/v3"

// Block says what fails a check besides new violations of rules that are enforced.
type Block struct {
	Existing bool `yaml:"existing"` // what the base had, too
	Audit    bool `yaml:"audit"`    // violations of rules that only audit
}

// The short forms of Block.
const (
	blockNew = "new" // the zero value
	blockAll = "all" // Existing
)

// UnmarshalYAML reads a map, or one of the short forms. Their form was checked before.
func (b *Block) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*b = Block{Existing: n.Value == blockAll}
		return nil
	}
	type plain Block
	return n.Decode((*plain)(b))
}

// Mode is how far a check goes.
type Mode string

// The modes.
const (
	ModeEnforce  Mode = "enforce"  // it fails; the default
	ModeAdvisory Mode = "advisory" // it says what would fail, and is neutral at most: to be rolled out
)
