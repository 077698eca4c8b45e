package gitops

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// clusterSecrets lists the Secrets that declare clusters to the Argo CD of the current object, sorted by name: those beside
// the object, if there are any. Those whose name or address is not known, or is not the same everywhere, are unread, and
// so are objects that make such Secrets in the cluster.
func (r *reader) clusterSecrets() (list, unread []*field) {
	byName, beside := map[string][]*field{}, map[string][]*field{}
	for _, kind := range Declaring() {
		for _, o := range r.wanted(Wanted{Group: declaringGroups[kind], Kind: kind, Namespace: r.object.Namespace, Any: true}) {
			name, _, known := o.Declares()
			switch secret := o.root(); {
			case labelsOf(secret).text(ClusterSecret) != "cluster":
			case !known || o.uncertain:
				unread = append(unread, secret)
			default:
				byName[name] = append(byName[name], secret)
				if o.from == r.from && r.from != "" || r.beside([]*field{secret}) {
					beside[name] = append(beside[name], secret)
				}
			}
		}
	}
	if len(beside) > 0 {
		byName = beside
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if agree(byName[name], "metadata", "data", "stringData") {
			list = append(list, byName[name][0])
		} else {
			unread = append(unread, byName[name]...)
		}
	}
	return list, unread
}

// Uncertain returns the object as one that may not be in the cluster.
func (o Object) Uncertain() Object {
	o.uncertain, o.id = true, "uncertain "+o.id
	return o
}

// Declares returns the name and the address of the cluster that a Secret declares; ok is false where they are not known.
func (o Object) Declares() (name, server string, ok bool) {
	secret := o.root()
	name, _ = secretText(secret, "name")
	server, _ = secretText(secret, "server")
	text := name + server
	return name, server, name != "" && server != "" && o.Kind == "Secret" && labelsOf(secret).text(ClusterSecret) == "cluster" &&
		!secret.present("sops") && !unfilled(text) && !strings.Contains(text, "ENC[")
}

// Declaring lists the kinds of objects that declare clusters to Argo CD, or make Secrets that do.
func Declaring() []string { return []string{"Secret", "ExternalSecret", "SealedSecret"} }

// declaringGroups has the API groups of what Declaring lists.
var declaringGroups = map[string]string{"ExternalSecret": "external-secrets.io", "SealedSecret": "bitnami.com"}

// templateOf returns what an object makes a Secret from: itself for a Secret
// (https://external-secrets.io/latest/api/externalsecret/, https://github.com/bitnami-labs/sealed-secrets).
func templateOf(object *field) *field {
	switch object.text("kind") {
	case "ExternalSecret":
		return object.get("spec", "target", "template")
	case "SealedSecret":
		return object.get("spec", "template")
	}
	return object
}

// labelsOf returns the labels of the Secret that an object is or makes. Without a template, it has those of the object.
func labelsOf(object *field) *field {
	if labels := templateOf(object).get("metadata", "labels"); labels.present() {
		return labels
	}
	return object.get("metadata", "labels")
}

// identity returns what generators select and use of the Secret that an object is or makes, as far as it is written. The
// credentials are not part of it.
func identity(object *field) any {
	parts, made := []any{object.get("metadata", "name"), labelsOf(object), object.get("spec", "data"), object.get("spec", "dataFrom")}, templateOf(object)
	parts = append(parts, object.get("metadata", "annotations"), made.get("metadata", "annotations"))
	for _, key := range []string{"name", "server", "project"} {
		parts = append(parts, made.get("data", key), made.get("stringData", key), object.get("spec", "encryptedData", key))
	}
	return digest(parts...)
}

// secretText returns a value of a Secret, which stringData or data has; empty where it has none, or none that can be read.
func secretText(secret *field, key string) (string, Position) {
	if text := secret.get("stringData", key); text != nil {
		return text.text(), text.Where
	}
	if text, ok := decoded(secret.get("data", key)); ok {
		return text.text(), secret.position("data", key)
	}
	return "", secret.position("data", key)
}

// decoded returns a value in the data of a Secret; false where it is not in base64.
func decoded(value *field) (*field, bool) {
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value.text()), ""))
	at := value.position()
	at.EndLine = 0 // the lines of the decoded text are not lines of the file
	return made(string(text), at), err == nil
}

// ClusterSecret is the label of the Secrets that declare clusters to Argo CD, with the value "cluster"
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters).
const ClusterSecret = "argocd.argoproj.io/secret-type"
