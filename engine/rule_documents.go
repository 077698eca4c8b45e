package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// RuleDocument is a document of the rules as it is written: a policy, a binding or an exception, also of a kind that
// is not evaluated, and also one that does not compile. Two versions of the rules are compared by them.
type RuleDocument struct {
	policy.Document

	// Content is what the document says: where two are equal, the documents are the same rule, whatever their
	// files and comments.
	Content string
	// Terms are what of an exception bears on what it lets through: its spec, its time to live, and which one it is.
	Terms string
	// Policies are the names, as results have them, of the policy it is or, of an exception, of those it is for.
	Policies  []string
	Exception bool // it is a PolicyException
	Binding   bool // it puts a policy into force
	Mutates   bool // it changes the objects that other policies see
	LooksUp   bool // it may ask for more than the request: it errs on the side of true
	Admission bool // of admissionregistration.k8s.io: policies and bindings bear on each other
}

// FullName returns the document's namespace/name, or its name where it is in no namespace.
func (d RuleDocument) FullName() string { return fullName(d.Namespace, d.Name) }

// ID returns what the document is a version of: group, kind and full name.
func (d RuleDocument) ID() string { return documentID(d.APIVersion, d.Kind, d.FullName()) }

// RuleDocuments lists the documents of the files that are rules, in their order. What cannot be read is left out:
// compiling the files says what is wrong with them.
func RuleDocuments(sources []policy.Source) []RuleDocument {
	var out []RuleDocument
	for _, s := range sources {
		documents, _ := policy.Documents(s)
		for _, d := range documents {
			if IsRule(d.Group(), d.Kind) {
				out = append(out, ruleDocument(d, s))
			}
		}
	}
	return out
}

// IsRule reports whether objects of a kind are rules. Of Kyverno's own groups all kinds are, since a misspelled one is
// meant to be a policy.
func IsRule(group, kind string) bool {
	kinds, ok := kindsOf[group]
	if group == admissionGroup {
		_, ok = kinds[kind]
	}
	return ok
}

// RuleMarks returns texts one of which is in every file that holds rules; most files hold none, and need not be parsed.
func RuleMarks() []string { return []string{"kyverno.io/", "AdmissionPolicy"} }

func ruleDocument(d policy.Document, s policy.Source) RuleDocument {
	value := d.Value()
	data, err := json.Marshal(value)
	if err != nil {
		data = []byte(s.Path + s.Digest) // equal to itself only
	}
	asks := func(mark string) bool { return bytes.Contains(data, []byte(mark)) }
	out := RuleDocument{
		Document: d, LooksUp: slices.ContainsFunc(lookUpMarks(), asks), Content: string(data),
		Exception: d.Kind == "PolicyException", Binding: strings.HasSuffix(d.Kind, "Binding"),
		Mutates: strings.HasPrefix(d.Kind, "Mutating") || hasMutation(value), Admission: d.Group() == admissionGroup,
	}
	if !out.Exception {
		out.Policies = []string{out.FullName()}
		return out
	}
	ttl := jsonpointer.At(value, "/metadata/labels/"+jsonpointer.Escape(ttlLabel))
	said, err := json.Marshal(map[string]any{"id": out.ID(), "ttl": ttl, "spec": jsonpointer.At(value, "/spec")})
	if out.Terms = string(said); err != nil {
		out.Terms = out.Content
	}
	for _, list := range []string{"/spec/exceptions", "/spec/policyRefs"} {
		refs, _ := jsonpointer.At(value, list).([]any)
		for _, ref := range refs {
			for _, field := range []string{"/policyName", "/name"} {
				if name, _ := jsonpointer.At(ref, field).(string); name != "" {
					out.Policies = append(out.Policies, name)
				}
			}
		}
	}
	return out
}

// lookUpMarks are texts one of which is in every rule that asks for other objects: entries of a rule's context, label
// selectors of namespaces, parameters of policies, and the libraries and variables of CEL
// (https://kyverno.io/docs/policy-types/cel-libraries/).
func lookUpMarks() []string {
	return []string{`"configMap"`, `"apiCall"`, `"globalReference"`, `"imageRegistry"`, `"namespaceSelector"`,
		`"paramKind"`, "namespaceObject", "resource.", "http.", "globalContext.", "parseServiceAccount", "authorizer"}
}

// hasMutation reports whether a policy of kyverno.io has a rule that changes objects.
func hasMutation(value any) bool {
	rules, _ := jsonpointer.At(value, "/spec/rules").([]any)
	return slices.ContainsFunc(rules, func(r any) bool { return jsonpointer.At(r, "/mutate") != nil })
}
