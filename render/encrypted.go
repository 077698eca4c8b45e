package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/tree"
)

// ksops is a generator that prints objects which SOPS has encrypted in files of the repository
// (https://github.com/viaduct-ai/kustomize-sops). Only values are encrypted, as a rule: the objects are deployed as they
// are in the files, with other values. So the files are included in place of the generator, as the first component, where
// what generators print belongs, too.
const ksops = "viaduct.ai/v1"

// behaviorAnnotation says what an object that a generator prints does with one of the same name
// (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/).
const behaviorAnnotation = "kustomize.config.k8s.io/behavior"

// encrypted includes the files of a configuration of ksops. It returns false where it is of another plugin, and where
// the objects depend on what is encrypted. at is the entry of the configuration, and shown its file.
func (b *builder) encrypted(p *plan, layer *origin.Layer, at entry, shown string, documents []*yaml.Node, above []string) bool {
	var resources, patches []string
	texts, copies := map[string][]byte{}, map[string]string{}
	for _, d := range documents {
		if doc.Text(d, "apiVersion") != ksops || len(doc.Items(d, "secretFrom")) > 0 {
			return false
		}
		for _, file := range doc.Items(d, "files") {
			text, real, merges, err := b.decrypted(p, layer.File.Dir, file.Value)
			if e := (*doc.Error)(nil); errors.As(err, &e) {
				if e.Path, e.Line, e.Column = shown, file.Line, file.Column; shown == layer.File.Path { // the lines are those of an inline text
					e.Line, e.Column = at.at.Line, at.at.Column
				}
				p.without(at, *e)
				return true
			}
			if err != nil {
				return false
			}
			name := "output/" + strconv.Itoa(len(texts)) + ".yaml"
			if texts[name], copies[name] = text, real; merges {
				patches = append(patches, name)
			} else {
				resources = append(resources, name)
			}
		}
	}
	if len(texts) == 0 {
		return false
	}
	component := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": resources}
	for _, name := range patches {
		list, _ := component["patches"].([]any)
		component["patches"] = append(list, map[string]any{"path": name})
	}
	texts["kustomization.yaml"], _ = sigsyaml.Marshal(component)
	m := b.mounts.mount(mountKey{at: at, text: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, texts)))}, func(m *mount) {
		m.field, m.inflated, m.texts, m.copies = "generators", &inflated{}, texts, copies
	})
	b.include(p, layer, inflationKey{at: at, shown: at}, m, above)
	return true
}

// errSealed is returned for objects that depend on what is encrypted.
var errSealed = errors.New("what is encrypted decides what the object is")

// decrypted reads a file of encrypted objects, with the path that it has after links. merges says that the objects are
// merged into those of the same names. The error is errSealed, or a *doc.Error without a place.
func (b *builder) decrypted(p *plan, dir, name string) (text []byte, real string, merges bool, err error) {
	failed := func(format string, args ...any) ([]byte, string, bool, error) {
		return nil, "", false, &doc.Error{Message: fmt.Sprintf("files: %q "+format, append([]any{name}, args...)...)}
	}
	at, inside := join(dir, name)
	if !inside {
		return failed("points outside the repository")
	}
	real, e, err := b.find(at)
	if err != nil || e.Kind != tree.File {
		if !isMounted(at) {
			p.reads[at] = ""
		}
		return failed("does not exist")
	}
	data, _, err := b.read(real)
	if err != nil {
		return failed("cannot be read")
	}
	p.files[real] = true
	noteRead(p.reads, p.links, at, real, e)
	documents, err := doc.Parse(real, data, b.limits.Source)
	if e := (*doc.Error)(nil); errors.As(err, &e) {
		return failed("cannot be read: %s", e.Message)
	}
	editor := doc.NewEditor(data)
	editor.KeepLines = true
	var edits []*doc.Edit
	for i, d := range documents {
		if !doc.Encrypted(d) {
			return failed("is not encrypted by SOPS, and ksops refuses it")
		}
		_, metadata := doc.Field(d, "metadata")
		if metadata == nil {
			return nil, "", false, errSealed
		}
		_, annotations := doc.Field(metadata, "annotations")
		hash, behavior := doc.Text(annotations, "kustomize.config.k8s.io/needs-hash"), doc.Text(annotations, behaviorAnnotation)
		sealed := strings.Contains(strings.Join([]string{doc.Text(d, "apiVersion"), doc.Text(d, "kind"), doc.Text(metadata, "name"),
			doc.Text(metadata, "namespace"), behavior}, " "), "ENC[")
		if sealed || hash == "true" || behavior != "" && behavior != "create" && behavior != "merge" || i > 0 && merges != (behavior == "merge") {
			return nil, "", false, errSealed
		}
		if merges = behavior == "merge"; behavior != "" {
			pointer := "/metadata/annotations"
			if len(annotations.Content) > 2 {
				pointer += "/" + strings.ReplaceAll(behaviorAnnotation, "/", "~1")
			}
			edit := editor.Edit(editor.Document(i))
			edit.Remove(pointer, false)
			edits = append(edits, edit)
		}
	}
	if text, err = editor.Apply(edits...); err != nil {
		return nil, "", false, errSealed
	}
	return text, real, merges, nil
}
