package diagnostics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	web = "-- app/web.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n" +
		"  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:1\n"
	webPatch = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
)

// A kustomization that kustomize refuses: where the problem is, and what is to be written there.
var broken = []struct{ name, archive, want string }{
	{"misspelled field", "-- app/kustomization.yaml --\nresources: [web.yaml]\nnamespcae: prod\n" + web,
		"app/kustomization.yaml:2: kustomize knows no field \"namespcae\": did you mean \"namespace\"?"},
	{"unknown field", "-- app/kustomization.yaml --\nresources: [web.yaml]\nspec: {}\n" + web,
		"app/kustomization.yaml:2: kustomize knows no field \"spec\": it belongs in a manifest, or into a " +
			"Kustomization of Flux (kustomize.toolkit.fluxcd.io), which is another kind of file"},
	{"misspelled field below", "-- app/kustomization.yaml --\nresources: [web.yaml]\nimages:\n- name: nginx\n" +
		"  newtags: \"2\"\n" + web,
		"app/kustomization.yaml:4: kustomize knows no field \"newtags\" in images[]: did you mean \"newTag\"?"},
	{"several fields", "-- app/kustomization.yaml --\nresource: [web.yaml]\nimage: []\npatches:\n- file: x.yaml\n" + web,
		"app/kustomization.yaml:1: kustomize knows no field \"resource\": did you mean " +
			"\"resources\"?\napp/kustomization.yaml:2: kustomize knows no field \"image\": did you mean " +
			"\"images\"?\napp/kustomization.yaml:4: kustomize knows no field \"file\" in patches[]: there are options, " +
			"patch, path, target"},
	{"resources are text", "-- app/kustomization.yaml --\nresources: web.yaml\n" + web,
		"app/kustomization.yaml:1: resources is text and must be a list: write each entry on a line of its own that " +
			"begins with \"- \""},
	{"resources are a map", "-- app/kustomization.yaml --\nresources:\n  web: web.yaml\n" + web,
		"app/kustomization.yaml:2: resources is a map and must be a list: write each entry on a line of its own that " +
			"begins with \"- \""},
	{"an entry is a map", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- path: other.yaml\n" + web,
		"app/kustomization.yaml:3: resources[] is a map and must be text"},
	{"labels are a map", "-- app/kustomization.yaml --\nresources: [web.yaml]\nlabels:\n  app: web\n" + web,
		"app/kustomization.yaml:3: labels is a map and must be a list: write each entry on a line of its own that " +
			"begins with \"- \""},
	{"common labels are a list", "-- app/kustomization.yaml --\nresources: [web.yaml]\ncommonLabels:\n- app: web\n" + web,
		"app/kustomization.yaml:3: commonLabels is a list and must be a map (name: value)"},
	{"a label is a boolean", "-- app/kustomization.yaml --\nresources: [web.yaml]\ncommonLabels:\n  on: true\n" + web,
		"app/kustomization.yaml:3: commonLabels.on is true or false and must be text: put it in quotes, \"true\""},
	{"a tag is a number", "-- app/kustomization.yaml --\nresources: [web.yaml]\nimages:\n- name: nginx\n  newTag: 1.25\n" +
		web,
		"app/kustomization.yaml:4: images[].newTag is a number and must be text: put it in quotes, \"1.25\""},
	{"a count is text", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplicas:\n- name: web\n  count: \"3\"\n" +
		web,
		"app/kustomization.yaml:4: replicas[].count is text and must be a whole number, without quotes"},
	{"image entries are text", "-- app/kustomization.yaml --\nresources: [web.yaml]\nimages:\n- nginx:2\n" + web,
		"app/kustomization.yaml:3: images[] is text and must be a map with digest, name, newName, newTag, tagSuffix"},
	{"another kind", "-- app/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomizaton\n" +
		"resources: [web.yaml]\n" + web,
		"app/kustomization.yaml:2: the kind of a kustomization file is Kustomization or Component, not " +
			"\"Kustomizaton\": did you mean \"Kustomization\"?"},
	{"another version", "-- app/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\n" +
		"resources: [web.yaml]\n" + web,
		"app/kustomization.yaml:1: the apiVersion of a Kustomization is kustomize.config.k8s.io/v1beta1: write that, " +
			"or leave the field out"},
	{"empty", "-- app/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
		"app/kustomization.yaml:1: is an empty kustomization: list what it deploys under resources, or remove the " +
			"file"},
	{"malformed YAML", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n namespace: x\n" + web,
		"app/kustomization.yaml:3: is not valid YAML: mapping values are not allowed in this context"},

	{"missing file", "-- app/kustomization.yaml --\nresources:\n- wbe.yaml\n" + web,
		"app/kustomization.yaml:2: resources: \"wbe.yaml\" does not exist"},
	{"missing base", "-- app/kustomization.yaml --\nresources:\n- ../base\n",
		"app/kustomization.yaml:2: resources: \"../base\" does not exist"},
	{"cycle", "-- app/kustomization.yaml --\nresources:\n- ../b\n-- b/kustomization.yaml --\nresources:\n- ../app\n",
		"b/kustomization.yaml:2: resources: \"../app\" includes itself: app -> b -> app"},
	{"file of another folder", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- ../shared/a.yaml\n" +
		"-- shared/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + web,
		"app/kustomization.yaml:3: resources: shared/a.yaml is outside the folder of this kustomization, where " +
			"kustomize reads no files. Move it into this folder, or make its folder a kustomization and list that, " +
			"or set kustomize.loadRestrictor in .lintel.yaml"},
	{"patch of another folder", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: " +
		"../shared/p.yaml\n" +
		"-- shared/p.yaml --\n" + webPatch + web,
		"app/kustomization.yaml:3: patches: shared/p.yaml is outside the folder of this kustomization, where " +
			"kustomize reads no files. Move it into this folder, or make its folder a kustomization and list that, " +
			"or set kustomize.loadRestrictor in .lintel.yaml"},
	{"a kustomization as a file", "-- app/kustomization.yaml --\nresources:\n- ../base/kustomization.yaml\n" +
		"-- base/kustomization.yaml --\nresources: [a.yaml]\n-- base/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
		"metadata: {name: a}\n",
		"app/kustomization.yaml:2: resources: \"../base/kustomization.yaml\" is a kustomization: list its folder, " +
			"\"../base\", not the file"},
	{"malformed manifest", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n-- app/web.yaml --\nkind: A\n  b: c\n",
		"app/web.yaml:2: is not valid YAML: mapping values are not allowed in this context"},

	{"no name", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- a.yaml\n-- app/a.yaml --\napiVersion: v1\n" +
		"kind: ConfigMap\nmetadata:\n  labels: {a: b}\n" + web,
		"app/a.yaml:3: this ConfigMap has no name: write metadata.name"},
	{"no metadata", "-- app/kustomization.yaml --\nresources:\n- a.yaml\n-- app/a.yaml --\napiVersion: v1\n" +
		"kind: ConfigMap\ndata: {}\n",
		"app/a.yaml:1: this ConfigMap has no name: write metadata.name"},
	{"no kind, second document", "-- app/kustomization.yaml --\nresources:\n- a.yaml\n-- app/a.yaml --\napiVersion: v1\n" +
		"kind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nmetadata:\n  name: b\n",
		"app/a.yaml:5: this has no kind, so it is not a resource: write apiVersion and kind, or remove the file from " +
			"resources"},
	{"misspelled kind", "-- app/kustomization.yaml --\nresources:\n- a.yaml\n-- app/a.yaml --\napiVersion: v1\n" +
		"Kind: ConfigMap\nmetadata: {name: a}\n",
		"app/a.yaml:2: this has no kind, so it is not a resource: write kind in place of Kind"},
	{"generated name", "-- app/kustomization.yaml --\nresources:\n- a.yaml\n-- app/a.yaml --\napiVersion: batch/v1\n" +
		"kind: Job\nmetadata:\n  generateName: a-\n",
		"app/a.yaml:4: this Job has generateName in place of a name, and kustomize needs a name: write metadata.name"},
	{"no map", "-- app/kustomization.yaml --\nresources:\n- a.yaml\n-- app/a.yaml --\n- a\n- b\n",
		"app/a.yaml:1: is a list, and a resource is a map with apiVersion, kind and metadata"},
	{"values file", "-- app/kustomization.yaml --\nresources:\n- values.yaml\n-- app/values.yaml --\nimage: nginx\n",
		"app/values.yaml:1: this has no kind, so it is not a resource: write apiVersion and kind, or remove the file " +
			"from resources"},
	{"duplicate in two files", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- more.yaml\n-- app/more.yaml --\n" +
		webPatch + web,
		"app/more.yaml:4: Deployment \"web\" is already part of this kustomization, by app/web.yaml: remove one, " +
			"or give it another name or namespace (to change it, write a patch)"},
	{"duplicate in one file", "-- app/kustomization.yaml --\nresources:\n- more.yaml\n-- app/more.yaml --\n" + webPatch +
		"---\n" + webPatch,
		"app/more.yaml:9: Deployment \"web\" is in this file twice: remove one, or give it another name or namespace"},
	{"listed twice", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- web.yaml\n" + web,
		"app/kustomization.yaml:3: resources: \"web.yaml\" is listed twice: remove one of the two"},
	{"duplicate of a base", "-- top/kustomization.yaml --\nresources:\n- ../app\n- web.yaml\n-- top/web.yaml --\n" +
		webPatch + "-- app/kustomization.yaml --\nresources: [web.yaml]\n" + web,
		"top/web.yaml:4: Deployment \"web\" is already part of this kustomization, by the kustomization in app: " +
			"remove one, or give it another name or namespace (to change it, write a patch)"},
	{"two bases bring it", "-- top/kustomization.yaml --\nresources:\n- ../app\n- ../two\n" +
		"-- two/kustomization.yaml --\nresources: [../app]\n-- app/kustomization.yaml --\nresources: [web.yaml]\n" + web,
		"top/kustomization.yaml:3: Deployment \"web\", which two includes, is already part of this kustomization, by " +
			"the kustomization in app: remove one, or give it another name or namespace (to change it, write a patch)"},
	{"duplicate by namespace", "-- app/kustomization.yaml --\nresources: [a.yaml]\nnamespace: c\n-- app/a.yaml --\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a}\n---\napiVersion: v1\nkind: ConfigMap\n" +
		"metadata: {name: a, namespace: b}\n",
		"app/kustomization.yaml:2: namespace: the namespace \"c\" gives two resources the same identity, ConfigMap " +
			"\"a\" in the " +
			"namespace \"a\" and ConfigMap \"a\" in the namespace \"b\": rename one, or put them into two kustomizations"},

	{"patch of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n-- " +
		"app/p.yaml --\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: wbe\n" + web,
		"app/p.yaml:4: this patch changes nothing: there is no Deployment \"wbe\" here: did you mean \"web\"?"},
	{"inline patch of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- patch: |\n" +
		"    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: api\n" + web,
		"app/kustomization.yaml:7: this patch changes nothing: there is no Deployment \"api\" here: it may be \"web\""},
	{"strategic merge of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatchesStrategicMerge:\n- " +
		"p.yaml\n" +
		"-- app/p.yaml --\napiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: web\n" + web,
		"app/p.yaml:4: this patch changes nothing: there is no StatefulSet \"web\" here, but a Deployment of that " +
			"name: correct the kind, or the name"},
	{"patch of another version", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\napiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n  name: web\n" + web,
		"app/p.yaml:4: this patch changes nothing: there is no Deployment \"web\" of extensions/v1beta1 here: write " +
			"apiVersion: apps/v1"},
	{"patch without namespace", "-- app/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: prod}\n-- app/p.yaml --\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: y}\n",
		"app/p.yaml:3: this patch changes nothing: there is no ConfigMap \"a\" without a namespace here: add " +
			"namespace: prod"},
	{"patch without kind", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\nspec: {replicas: 2}\n" + web,
		"app/p.yaml:1: this patch has no kind: write apiVersion, kind and metadata.name of what it changes"},
	{"second patch in the file", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\n" + webPatch + "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\n" + web,
		"app/p.yaml:9: this patch changes nothing: there is no Service \"web\" here, but a Deployment of that name: " +
			"correct the kind, or the name"},
	{"two patches are wrong", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"- path: q.yaml\n- path: r.yaml\n-- app/p.yaml --\napiVersion: v1\nkind: A\nmetadata: {name: a}\n-- app/q.yaml --\n" +
		webPatch + "-- app/r.yaml --\napiVersion: v1\nkind: B\nmetadata: {name: b}\n" + web,
		"app/p.yaml:3: this patch changes nothing: there is no A \"a\" here, nor any other A: add it under " +
			"resources, or correct the kind\napp/r.yaml:3: this patch changes nothing: there is no B \"b\" here, nor any " +
			"other B: add it under resources, or correct the kind"},
	{"patch is a list where a map is", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\n" + webPatch + "spec:\n  template:\n  - spec: {}\n" + web,
		"app/p.yaml:7: spec.template is a list in this patch and a map in Deployment \"web\""},
	{"patch is a map where a list is", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\n" + webPatch + "spec:\n  template:\n    spec:\n      containers:\n        image: x\n" + web,
		"app/p.yaml:9: spec.template.spec.containers is a map in this patch and a list in Deployment \"web\""},
	{"patch and path", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n  patch: 'a: b'\n" +
		"-- app/p.yaml --\n" + webPatch + web,
		"app/kustomization.yaml:4: patches: has both patch and path: keep one"},
	{"neither patch nor path", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- target: {kind: " +
		"A}\n" + web,
		"app/kustomization.yaml:3: patches: has neither patch nor path: write the patch, or the path of its file"},
	{"malformed inline patch", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- patch: |-\n    a: b\n" +
		"      c: d\n" + web,
		"app/kustomization.yaml:5: this patch is not valid YAML: mapping values are not allowed in this context"},
	{"malformed patch", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\na: b\n  c: d\n" + web,
		"app/p.yaml:2: is not valid YAML: mapping values are not allowed in this context"},

	{"operations without target", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"-- app/p.yaml --\n- {op: remove, path: /spec/replicas}\n" + web,
		"app/kustomization.yaml:3: patches: a patch of operations needs a target: write target: with kind and name " +
			"of what it changes"},
	{"remove what is not there", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  path: p.yaml\n-- app/p.yaml --\n- op: replace\n  path: /spec/replicas\n  " +
		"value: 2\n" +
		"- op: remove\n  path: /spec/template/spec/nodeSelectors\n" + web,
		"app/p.yaml:5: remove /spec/template/spec/nodeSelectors: in Deployment \"web\", /spec/template/spec has no " +
			"field \"nodeSelectors\": it has containers"},
	{"inline remove", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  patch: |-\n    - op: remove\n      path: /spec/replicass\n" + web,
		"app/kustomization.yaml:6: remove /spec/replicass: in Deployment \"web\", /spec has no field \"replicass\": " +
			"did you mean \"replicas\"?"},
	{"replace beyond the list", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  path: p.yaml\n-- app/p.yaml --\n- op: replace\n" +
		"  path: /spec/template/spec/containers/1/image\n  value: x\n" + web,
		"app/p.yaml:2: replace /spec/template/spec/containers/1/image: in Deployment \"web\", " +
			"/spec/template/spec/containers is a list of 1, whose elements are counted from 0: it has no \"1\""},
	{"add beyond the list", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  path: p.yaml\n-- app/p.yaml --\n- op: add\n" +
		"  path: /spec/template/spec/containers/3\n  value: {name: x}\n" + web,
		"app/p.yaml:2: add /spec/template/spec/containers/3: in Deployment \"web\", /spec/template/spec/containers is a " +
			"list of 1: write - in place of \"3\" for its end"},
	{"unknown operation", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  path: p.yaml\n-- app/p.yaml --\n- op: delete\n  path: /spec/replicas\n" + web,
		"app/p.yaml:1: there is no operation \"delete\"; there are add, remove, replace, move, copy, test"},
	{"path with dots", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n" +
		"- target: {kind: Deployment}\n  path: p.yaml\n-- app/p.yaml --\n- op: replace\n  path: spec.replicas\n  value: 1\n" +
		web,
		"app/p.yaml:1: the path \"spec.replicas\" must begin with a slash and have slashes between its parts: " +
			"\"/spec/replicas\""},
	{"json6902 with a merge patch", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatchesJson6902:\n" +
		"- target: {group: apps, version: v1, kind: Deployment, name: web}\n  path: p.yaml\n-- app/p.yaml --\n" +
		"spec: {replicas: 2}\n" + web,
		"app/p.yaml:1: patchesJson6902: this must be a list of operations (op, path, value); a patch that looks like " +
			"a manifest belongs in patches"},
	{"json6902 without target", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatchesJson6902:\n- path: p.yaml\n" +
		"-- app/p.yaml --\n- {op: remove, path: /spec/replicas}\n" + web,
		"app/kustomization.yaml:3: patchesJson6902: a patch of operations needs a target: write target: with kind " +
			"and name of what it changes"},

	{"generator without name", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- literals: [a=b]\n",
		"app/kustomization.yaml:2: configMapGenerator: has no name: write name: and the name of what it generates"},
	{"generator without file", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  files:\n  - gone.txt\n",
		"app/kustomization.yaml:4: configMapGenerator.files: \"gone.txt\" does not exist"},
	{"literal without value", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  literals:\n  - a=b\n" +
		"  - c\n",
		"app/kustomization.yaml:5: configMapGenerator: this literal must be written as name=value"},
	{"literals are a map", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  literals:\n    a: b\n",
		"app/kustomization.yaml:4: configMapGenerator[].literals is a map and must be a list: write each entry on a " +
			"line of its own that begins with \"- \""},
	{"key twice", "-- app/kustomization.yaml --\nsecretGenerator:\n- name: a\n  literals:\n  - a=b\n  - a=c\n",
		"app/kustomization.yaml:5: secretGenerator: the key \"a\" is given twice: remove one"},
	{"generated twice", "-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n- name: a\n",
		"app/kustomization.yaml:3: configMapGenerator: ConfigMap \"a\" is already part of this kustomization: write " +
			"behavior: merge to add to it, or give it another name"},
	{"merge into nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\nconfigMapGenerator:\n- name: a\n" +
		"  behavior: merge\n  literals: [a=b]\n" + web,
		"app/kustomization.yaml:4: configMapGenerator: behavior merge changes a ConfigMap that a base generates, and " +
			"there is no ConfigMap \"a\" here, nor any other ConfigMap: add it under resources, or correct the kind"},
	{"patch with a target and no kind", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"  target: {kind: Deployment}\n-- app/p.yaml --\nmetadata: {labels: {a: b}}\n" + web,
		"app/p.yaml:1: this patch has no kind: write apiVersion, kind and metadata.name of what it changes (with a " +
			"target any name will do)"},
	{"malformed labels", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"  target: {labelSelector: \"a = = b\"}\n-- app/p.yaml --\nkind: A\nmetadata: {name: a}\n" + web,
		"app/kustomization.yaml:3: patches: unable to find patch target " +
			"\"[noKind].[noVer].[noGrp]/[noName].[noNs]:a=:l=a = = b\" in `resources`: unable to parse requirement: " +
			"found '=', expected: identifier"},
	{"malformed expression", "-- app/kustomization.yaml --\nresources: [web.yaml]\npatches:\n- path: p.yaml\n" +
		"  target: {name: \"web(\"}\n-- app/p.yaml --\nkind: A\nmetadata: {name: a}\n" + web,
		"app/kustomization.yaml:4: patches: name of the target is no valid regular expression: put a backslash " +
			"before each character that is meant literally"},
	{"transformer that is none", "-- app/kustomization.yaml --\nresources: [web.yaml]\ntransformers: [t.yaml]\n" +
		"-- app/t.yaml --\napiVersion: builtin\nkind: LabelsTransformer\nmetadata: {name: x}\n" + web,
		"app/kustomization.yaml:2: transformers: unable to load builtin LabelsTransformer.builtin.[noGrp]"},
	{"configuration", "-- app/kustomization.yaml --\nresources: [web.yaml]\nconfigurations:\n- c.yaml\n" +
		"-- app/c.yaml --\nnameReference: x\n" + web,
		"app/kustomization.yaml:3: configurations: error unmarshaling JSON: while decoding JSON: json: cannot " +
			"unmarshal string"},
	{"unknown order", "-- app/kustomization.yaml --\nresources: [web.yaml]\nsortOptions:\n  order: up\n" + web,
		"app/kustomization.yaml:2: sortOptions: the field 'sortOptions.order' must be one of [fifo, legacy]"},
	{"replicas of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplicas:\n- name: wbe\n  count: " +
		"2\n" + web,
		"app/kustomization.yaml:3: replicas: there is no Deployment, StatefulSet, ReplicaSet or " +
			"ReplicationController \"wbe\" here: did you mean \"web\"?"},
	{"replacement without source", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n- targets:\n" +
		"  - select: {kind: Deployment}\n    fieldPaths: [metadata.name]\n" + web,
		"app/kustomization.yaml:3: replacements: this has no source: write source: with kind, name and fieldPath of " +
			"the value, or sourceValue"},
	{"replacement without targets", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n" +
		"- source: {kind: Deployment, name: web}\n" + web,
		"app/kustomization.yaml:3: replacements: this has no targets: write targets: with select and fieldPaths of " +
			"where the value goes"},
	{"replacement of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n- source:\n" +
		"    kind: Deployment\n    name: wbe\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: [metadata.name]\n" +
		web,
		"app/kustomization.yaml:5: replacements: the source is missing: there is no Deployment \"wbe\" here: did you " +
			"mean \"web\"?"},
	{"replacement from no field", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n- source:\n" +
		"    kind: Deployment\n    name: web\n    fieldPath: spec.replica\n  targets:\n  - select: {kind: Deployment}\n" +
		"    fieldPaths: [metadata.name]\n" + web,
		"app/kustomization.yaml:6: replacements: the source has no value: in Deployment \"web\", spec has no field " +
			"\"replica\": did you mean \"replicas\"?"},
	{"replacement into no field", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n- source:\n" +
		"    kind: Deployment\n    name: web\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths:\n" +
		"    - metadata.name\n    - metadata.labels.app\n" + web,
		"app/kustomization.yaml:10: replacements: in Deployment \"web\", metadata has no field \"labels\": it has " +
			"name; to have it created, write options: {create: true}"},
	{"replacement that selects nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n- " +
		"source:\n" +
		"    kind: Deployment\n    name: web\n  targets:\n  - fieldPaths: [metadata.name]\n" + web,
		"app/kustomization.yaml:7: replacements: this target selects nothing: write select: with kind and name of " +
			"what is to change"},
	{"null replacement target", "-- app/kustomization.yaml --\nresources: [web.yaml]\nreplacements:\n" +
		"- source: {kind: Deployment}\n  targets: [null]\n" + web,
		"app/kustomization.yaml:4: replacements: this target selects nothing: write select: with kind and name of " +
			"what is to change"},
	{"var of nothing", "-- app/kustomization.yaml --\nresources: [web.yaml]\nvars:\n- name: A\n  objref:\n" +
		"    apiVersion: v1\n    kind: Service\n    name: web\n" + web,
		"app/kustomization.yaml:7: vars: A: there is no Service \"web\" here, but a Deployment of that name: correct " +
			"the kind, or the name"},

	{"in a component", "-- app/kustomization.yaml --\nresources: [web.yaml]\ncomponents:\n- ../part\n" +
		"-- part/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n" +
		"- path: p.yaml\n-- part/p.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: api\n" + web,
		"part/p.yaml:4: this patch changes nothing: there is no Deployment \"api\" here: it may be \"web\""},
	{"in a base", "-- app/kustomization.yaml --\nresources:\n- ../base\n-- base/kustomization.yaml --\nresources:\n" +
		"- a.yaml\n-- base/a.yaml --\napiVersion: v1\nkind: ConfigMap\n",
		"base/a.yaml:1: this ConfigMap has no name: write metadata.name"},
	{"a component among the resources", "-- app/kustomization.yaml --\nresources:\n- web.yaml\n- ../part\n" +
		"-- part/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamespace: x\n" + web,
		"app/kustomization.yaml:3: resources: \"../part\" is a component: list it under components"},
	{"a base among the components", "-- app/kustomization.yaml --\nresources:\n- web.yaml\ncomponents:\n- ../part\n" +
		"-- part/kustomization.yaml --\nnamespace: x\n" + web,
		"app/kustomization.yaml:4: components: \"../part\" is not a component: list it under resources, or write " +
			"kind: Component in it"},
}

func TestDiagnosticsNameTheCause(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			root := "app"
			if strings.HasPrefix(c.archive, "-- top/") {
				root = "top"
			}
			if got := problems(t, c.archive, root)[0]; got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// problems renders roots one after another, by the same renderer, and returns what stands in the way of each.
func problems(t *testing.T, archive string, paths ...string) []string {
	t.Helper()
	r := treetest.New(t)
	set, err := deploy.Open(r.Tree(r.Commit(archive)), roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	renderer := set
	found := make([]string, len(paths))
	for _, root := range set.All() {
		i := slices.Index(paths, root.Path)
		if i < 0 {
			continue
		}
		_, problems, err := renderer.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.Error())
		}
		found[i] = strings.Join(lines, "\n")
	}
	return found
}

// A problem in a base is the same one, at the same place, for all that include it.
func TestProblemOfABaseHasOnePlace(t *testing.T) {
	const base = "-- base/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- path: p.yaml\n-- base/a.yaml --\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n-- base/p.yaml --\napiVersion: v1\nkind: ConfigMap\n" +
		"metadata: {name: b}\n"
	const want = `base/p.yaml:3: this patch changes nothing: there is no ConfigMap "b" here: did you mean "a"?`
	got := problems(t, base+"-- one/kustomization.yaml --\nresources: [../base]\nnamespace: one\n"+
		"-- two/kustomization.yaml --\nresources: [../base]\nnamespace: two\n", "one", "two")
	if got[0] != want || got[1] != want {
		t.Errorf("got %q", got)
	}
}

// What a secret holds is not said.
func TestSecrets(t *testing.T) {
	for _, archive := range []string{
		"-- app/kustomization.yaml --\nsecretGenerator:\n- name: a\n  literals: [hunter2]\n",
		"-- app/kustomization.yaml --\nsecretGenerator:\n- name: a\n  literals: [20405060]\n",
		"-- app/kustomization.yaml --\nsecretGenerator:\n- name: a\n  envs: [e]\n-- app/e --\nA=hunter\xff\n",
		"-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\nkind: Secret\nstringData: {a: hunter2}\n",
	} {
		got := problems(t, archive, "app")[0]
		if got == "" || strings.Contains(got, "hunter") || strings.Contains(got, "20405060") {
			t.Errorf("got %q for %s", got, archive)
		}
	}
}
