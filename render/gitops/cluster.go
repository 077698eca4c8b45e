package gitops

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Cluster identifies a cluster by what an object says about it, or by the folder of the object. Equal values are the
// same cluster.
type Cluster struct {
	By   ClusterBy
	Name string
	Part string // ByGenerator: which of the clusters, where a merge generator tells them apart; see partOf
}

// ClusterBy says what identifies a cluster.
type ClusterBy uint8

// What identifies a cluster. ByNothing is the cluster that the objects of the repository are in.
const (
	ByNothing   ClusterBy = iota
	ByFolder              // the folder that its objects are deployed from: "clusters/NAME", or a folder that deploys itself
	ByName                // its name in Argo CD
	ByServer              // its address
	ByConfig              // the kubeconfig that Flux uses
	BySettings            // its name in the settings
	ByGenerator           // a generator of an ApplicationSet, of which only the cluster knows the result
)

// Becomes reports whether a cluster before a change is one after it, as far as is known: the descriptions are equal, or
// only a generator knows the later one. A cluster that is named later need not be one that a generator selected before.
func (c Cluster) Becomes(later Cluster) bool {
	return c.Is(later) || c.By != ByGenerator && later.By == ByGenerator
}

// Is reports whether two descriptions are the same, except for the part of what one generator selects. An edit of the
// generator's list moves clusters from one part to another.
func (c Cluster) Is(other Cluster) bool { return c.Whole() == other.Whole() }

// Whole returns the cluster as one of all that its generator selects.
func (c Cluster) Whole() Cluster { return Cluster{By: c.By, Name: c.Name} }

// MayBecome is wider than Becomes: a folder may identify a cluster that nothing identified on the other side, or may be
// inside the other folder.
func (c Cluster) MayBecome(later Cluster) bool {
	return c.Becomes(later) || c.By == ByNothing && later.By == ByFolder || c.By == ByFolder && later.By == ByNothing ||
		c.within(later) || later.within(c)
}

// Apart reports whether two descriptions certainly stand for different clusters: they are of the same kind and differ.
// If one is a folder in the other, it may be for a part of the same cluster.
func (c Cluster) Apart(other Cluster) bool {
	if c.By == ByGenerator {
		return c.Is(other) && arePartsApart(c.Part, other.Part)
	}
	return c.By == other.By && c.Name != other.Name && !c.within(other) && !other.within(c)
}

// partOf describes the clusters that get a set of a merge generator: those with the merge keys of its override, or all
// others. It is empty where it is not known that each cluster gets at most one of the sets.
func partOf(generator *field, s set, all []set) string {
	keys := generator.get("merge", "mergeKeys")
	switch {
	case !keys.present() || !selectsOnce(generator):
		return ""
	case s.key != "":
		return digest(keys.plain()) + "\n" + s.key
	case s.rest:
		part := digest(keys.plain()) + "\n"
		for _, other := range all {
			if other.key != "" {
				part += "\n" + other.key
			}
		}
		return part
	}
	return ""
}

// arePartsApart reports whether two parts of what one generator selects have no cluster in common. After the digest of
// the merge keys, a part has a line with its values of them, or an empty line and those of all the others.
func arePartsApart(a, b string) bool {
	keys, one, _ := strings.Cut(a, "\n")
	otherKeys, other, _ := strings.Cut(b, "\n")
	if keys != otherKeys || one == "" || other == "" {
		return false
	}
	excludes := func(rest, one string) bool {
		return strings.HasPrefix(rest, "\n") && !strings.HasPrefix(one, "\n") && slices.Contains(strings.Split(rest[1:], "\n"), one)
	}
	return one[0] != '\n' && other[0] != '\n' && one != other || excludes(one, other) || excludes(other, one)
}

// maxParts is how many parts of what generators select are told apart in one list.
const maxParts = 16

// Few returns a list of clusters; without the parts of generators where these are many, since each is looked at by itself.
func Few(list []Cluster) []Cluster {
	if len(list) <= maxParts {
		return list
	}
	var few []Cluster
	for _, c := range list {
		if c = c.Whole(); !slices.Contains(few, c) {
			few = append(few, c)
		}
	}
	return few
}

// Word returns what people call the cluster; empty where nothing tells it from the others that its generator selects.
func (c Cluster) Word() string {
	_, part, _ := strings.Cut(c.Part, "\n")
	var keys []any
	switch {
	case c.By != ByGenerator:
		return c.Name
	case strings.HasPrefix(part, "\n"):
		return "other clusters"
	case json.Unmarshal([]byte(part), &keys) != nil:
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(keys...), "\n")
}

func (c Cluster) within(other Cluster) bool {
	return c.By == ByFolder && other.By == ByFolder && (other.Name == "." || strings.HasPrefix(c.Name, other.Name+"/"))
}

// argoCluster reads the destination of an Application, which a generator may have filled in. It also returns the
// cluster's name for messages (https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters).
func (r *reader) argoCluster(to *field) (people string, c Cluster) {
	name, server := known(to, "name"), known(to, "server")
	people = cmp.Or(name, server)
	switch {
	case name == "in-cluster", server != "" && ClusterAt(server) == Cluster{}:
		return "in-cluster", Cluster{}
	case strings.Contains(people, "{{"), people == "" && to.text("name")+to.text("server") != "":
		return people, Cluster{By: ByGenerator, Name: r.choosing}
	case people == "":
		return "", Cluster{}
	case name != "":
		return people, Cluster{By: ByName, Name: name}
	}
	return people, ClusterAt(server)
}

// ClusterAt returns the cluster at an address; the zero value is that of Argo CD itself.
func ClusterAt(server string) Cluster {
	if server = strings.TrimSuffix(server, "/"); server == "https://kubernetes.default.svc" {
		return Cluster{}
	}
	return Cluster{By: ByServer, Name: server}
}

// choosing is a digest of how a generator, or one inside it, selects clusters. Generators with different digests may
// select different clusters. Values that a generator adds to the selected ones are not part of the digest.
func choosing(generator *field) string {
	var parts []any
	for _, key := range generator.Keys {
		own := generator.get(key)
		switch key {
		case "matrix", "merge":
			for _, inner := range own.elements("generators") {
				parts = append(parts, choosing(inner))
			}
		case "list", "git", "selector":
		default:
			for _, field := range own.Keys {
				if field != "values" && field != "template" && field != "requeueAfterSeconds" {
					parts = append(parts, key, field, own.get(field).plain())
				}
			}
		}
	}
	return digest(parts...)
}

// ClusterOfFolder returns the cluster of a folder of objects. In Flux' guide each folder below "clusters" is a cluster
// (https://fluxcd.io/flux/guides/repository-structure/).
func ClusterOfFolder(dir string) Cluster {
	parts := strings.Split(dir, "/")
	if i := slices.Index(parts, "clusters"); i >= 0 && i+1 < len(parts) {
		return Cluster{By: ByFolder, Name: path.Join(parts[:i+2]...)}
	}
	return Cluster{}
}

// MayBeClusterOf returns the cluster of a path if each folder and file in a folder "clusters" or "cluster" is one. Only
// other files show whether that is so.
func MayBeClusterOf(p string) (c Cluster, ok bool) {
	parts := strings.Split(p, "/")
	i := slices.IndexFunc(parts, func(name string) bool { return name == "clusters" || name == "cluster" })
	if i < 0 || i+1 >= len(parts) {
		return c, false
	}
	name := path.Join(parts[:i+2]...)
	if i+2 == len(parts) {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
	}
	return Cluster{By: ByFolder, Name: name}, true
}

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

// holders lists the kinds of objects that may be or make what a reference to a kind names.
func holders(kind string) []string {
	if kind == "Secret" {
		return Declaring()
	}
	return []string{kind}
}

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
