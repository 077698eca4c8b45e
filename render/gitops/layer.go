package gitops

import (
	"regexp"

	"github.com/lintel-bot/lintel/render/remote"
)

// Layer is one source of values.
type Layer struct {
	// Name says what it is, for people: "spec.values", "ConfigMap app-values", "values-prod.yaml", "parameter image.tag".
	Name string
	// Where is the field that holds the values, or that names what holds them.
	Where Position
	// File is the path of the file that holds them, in this repository where Want has no kind, else in what that comes
	// to. It may be a pattern: see Values.
	File string
	Want remote.Want
	// Unknown says why nobody knows what it holds; empty: it is known.
	Unknown string

	kind      layerKind
	path      string      // of a value that is set by itself, as Helm's --set has it
	value     *field      // what a field holds: an object, or a text
	optional  bool        // it may be missing
	broken    string      // what is wrong with it
	unsure    string      // why what it sets is not known as it is written
	variables bool        // Flux puts values in for ${} in its texts
	first     bool        // only the first of several documents counts
	kustomize bool        // it is kustomize that reads it
	glob      bool        // File is a pattern
	named     []layerFile // what other layers name and the pattern leaves to them
	matched   string      // the files of this repository that a pattern matches
}

// layerKind is what a layer does to the values.
type layerKind int

const (
	mergeLayer   layerKind = iota // an object, or a text that is read as one, is merged into them
	setLayer                      // --set
	stringLayer                   // --set-string
	fileLayer                     // --set-file
	fluxLayer                     // targetPath: --set, or --set-string where the text is quoted
	literalLayer                  // targetPath with literal
)

// layerFile is a file of this repository or of another source.
type layerFile struct {
	want remote.Want
	path string
}

// shape lists what the values of a layer depend on and no file has.
func (l Layer) shape() []any {
	return []any{l.Name, l.File, l.Want, l.Unknown, l.kind, l.path, l.value.plain(), hasUnknown(l.value), l.optional,
		l.broken, l.unsure, l.glob, l.matched, l.variables}
}

// unset matches a variable of Flux' postBuild that nobody has put a value in for.
var unset = regexp.MustCompile(`\$\{[_a-zA-Z]\w*`)
