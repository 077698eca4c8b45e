package chart

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A mark stands in an object where a value goes; templateOf puts its text there when all is YAML. One that stands for whole
// lines is an entry of its own, whose text gets the indentation.
const mark = "LINTEL-CHART-"

var (
	markForm = regexp.MustCompile(mark + `[a-z]+`)
	lineForm = regexp.MustCompile(`(?m)^( *)(?:- )?(` + mark + `lines-[a-z]+)(?:: "")?\n`)
)

// texts are what marks stand for. A %d is the indentation of the line, and %s that many blanks.
var texts = map[string]string{
	"namespace": `{{ .Release.Namespace | quote }}`,
	"instance":  `{{ .Release.Name | quote }}`,
	"managedby": `{{ .Release.Service }}`,
	"chart":     `{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}`,
	"image": `{{ with .Values.image.digest }}{{ printf "%s@%s" $.Values.image.repository . | quote }}{{ else }}` +
		`{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}{{ end }}`,
	"secret":   `{{ .Values.secretName | quote }}`,
	"replicas": `{{ .Values.replicas }}`,
	"checksum": `{{ include "lintel.config" . | sha256sum | quote }}`,
	"size":     `{{ .Values.storage.size | quote }}`,

	"lines-config":  "{{- include \"lintel.config\" . | trim | nindent %d }}\n",
	"lines-class":   "{{- with .Values.storage.className }}\n%sstorageClassName: {{ . | quote }}\n{{- end }}\n",
	"lines-volumes": "{{- with .Values.volumes }}\n{{- toYaml . | nindent %d }}\n{{- end }}\n",
	"lines-mounts":  "{{- with .Values.volumeMounts }}\n{{- toYaml . | nindent %d }}\n{{- end }}\n",
	"lines-egress":  "{{- with .Values.egress }}\n{{- toYaml . | nindent %d }}\n{{- end }}\n",
	"lines-given":   "{{- if .Values.resources }}\n{{- toYaml .Values.resources | nindent %d }}\n{{- else }}\n",
	"lines-own":     "{{- end }}\n",
	"lines-env":     "{{- with .Values.env }}\n{{- toYaml . | nindent %d }}\n{{- end }}\n",
	"lines-pull":    "{{- with .Values.image.pullPolicy }}\n%simagePullPolicy: {{ . }}\n{{- end }}\n",
	"lines-pod":     optional(podFields(), ".Values"),
	"lines-type":    optional([]string{"type"}, "(.Values.service)"),
	"lines-service": optional([]string{"annotations"}, "(.Values.service)"),
	"lines-noted":   entries("podAnnotations"),
	"lines-labels":  entries("podLabels"),
	"lines-watched": entries("monitoringLabels"),
}

// podFields are what pods may have besides.
func podFields() []string {
	return []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity", "priorityClassName"}
}

// optional are lines of fields that are there if a map of values has them. JSON is YAML, wherever it stands. The map may
// be missing where somebody upgrades with the values of an earlier chart.
func optional(fields []string, values string) (text string) {
	for _, field := range fields {
		text += "{{- with " + values + "." + field + " }}\n%s" + field + ": {{ toJson . }}\n{{- end }}\n"
	}
	return text
}

// entries are lines with what a map of the values has.
func entries(name string) string {
	return "{{- range $name, $value := .Values." + name + " }}\n%s{{ $name | quote }}: {{ $value | quote }}\n{{- end }}\n"
}

// template is a template of objects for when a condition holds. What of their settings is not among the defaults is so in
// this variant whatever the values say.
func template(variant, when string, objects []*yaml.Node, defaults []setting) ([]byte, error) {
	var forced []setting
	var documents bytes.Buffer
	for _, object := range objects {
		kind := at(object, "kind").Value
		if kind == "Namespace" { // of the release
			continue
		}
		if at(object, "metadata", "name") == nil || !strings.HasPrefix(at(object, "metadata", "name").Value, Name) {
			return nil, fmt.Errorf("a %s without a name that begins with %s", kind, Name)
		}
		belongs(object)
		var err error
		switch kind {
		case "ConfigMap":
			forced, err = config(object, defaults)
		case "Deployment":
			err = deployment(object)
		case "PersistentVolumeClaim":
			err = claim(object)
		case "Service":
			more(at(object, "metadata"), "service")
			more(at(object, "spec"), "type")
		case "ServiceMonitor", "PrometheusRule":
			more(at(object, "metadata", "labels"), "watched")
		case "NetworkPolicy":
			err = appended(object, "egress", "spec", "egress")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		text, err := templateOf(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		documents.WriteString("---\n" + text)
	}
	text := fmt.Sprintf("{{- if %s }}\n%s{{- end }}\n", when, documents.String())
	if strings.Contains(text, `"lintel.config"`) { // names are of all templates of a chart
		text = strings.ReplaceAll(configTemplate(forced)+text, `"lintel.config"`, `"lintel.config.`+variant+`"`)
	}
	return []byte(text), nil
}

// configTemplate defines the settings of the values, as text: numbers come as floating point out of a file of values.
func configTemplate(forced []setting) string {
	var b strings.Builder
	b.WriteString("{{- define \"lintel.config\" -}}\n{{- $config := deepCopy .Values.config }}\n" +
		"{{- with .Values.publicURL }}{{ $_ := set $config \"LINTEL_PUBLIC_URL\" . }}{{ end }}\n")
	for _, s := range forced {
		fmt.Fprintf(&b, "{{- $_ := set $config %q %q }}\n", s.name, s.value)
	}
	b.WriteString(`{{- range $name, $value := $config }}
{{- if kindIs "float64" $value }}{{ $value = int64 $value }}{{ end }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end -}}
`)
	return b.String()
}

// belongs says of an object which release it is of.
func belongs(object *yaml.Node) {
	metadata := at(object, "metadata")
	if at(metadata, "namespace") != nil {
		set(metadata, "namespace", mark+"namespace")
	}
	if at(metadata, "labels") == nil {
		metadata.Content = append(metadata.Content, scalar("labels"), &yaml.Node{Kind: yaml.MappingNode})
	}
	labels := at(metadata, "labels")
	set(labels, "app.kubernetes.io/instance", mark+"instance")
	set(labels, "app.kubernetes.io/managed-by", mark+"managedby")
	set(labels, "helm.sh/chart", mark+"chart")
}

func config(object *yaml.Node, defaults []setting) (forced []setting, err error) {
	set(at(object, "metadata"), "name", Name) // without the hash: a changed setting changes the checksum below
	own := map[string]string{}
	for i, data := 0, at(object, "data"); i < len(data.Content); i += 2 {
		own[data.Content[i].Value] = data.Content[i+1].Value
	}
	for _, d := range defaults {
		value, ok := own[d.name]
		if !ok {
			return nil, fmt.Errorf("the setting %s is gone", d.name)
		}
		if delete(own, d.name); value != d.value {
			forced = append(forced, setting{d.name, value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		forced = append(forced, setting{name, own[name]})
	}
	at(object, "data").Content = []*yaml.Node{scalar(mark + "lines-config"), text("")}
	return forced, nil
}

func deployment(object *yaml.Node) error {
	pod := at(object, "spec", "template")
	metadata := at(pod, "metadata")
	if metadata == nil || at(metadata, "annotations") != nil || at(pod, "spec", "containers") == nil {
		return fmt.Errorf("its pods are not as the chart knows them")
	}
	metadata.Content = append(metadata.Content, scalar("annotations"), &yaml.Node{Kind: yaml.MappingNode})
	set(at(metadata, "annotations"), "checksum/config", mark+"checksum")
	more(at(metadata, "annotations"), "noted")
	more(at(metadata, "labels"), "labels")
	for _, field := range podFields() {
		if at(pod, "spec", field) != nil {
			return fmt.Errorf("its pods have their own %s", field)
		}
	}
	more(at(pod, "spec"), "pod")
	containers := at(pod, "spec", "containers").Content
	if len(containers) != 1 {
		return fmt.Errorf("%d containers", len(containers))
	}
	c := containers[0]
	set(c, "image", mark+"image")
	more(c, "pull")
	set(at(c, "envFrom").Content[0].Content[1], "name", Name)
	for _, variable := range at(c, "env").Content {
		if key := at(variable, "valueFrom", "secretKeyRef"); key != nil {
			set(key, "name", mark+"secret")
		}
	}
	for _, volume := range at(pod, "spec", "volumes").Content {
		if secret := at(volume, "secret"); secret != nil {
			set(secret, "secretName", mark+"secret")
		}
	}
	if replicas := at(object, "spec", "replicas"); replicas != nil && replicas.Value != "1" {
		set(at(object, "spec"), "replicas", mark+"replicas")
	}
	resources := at(c, "resources")
	resources.Content = slices.Concat([]*yaml.Node{scalar(mark + "lines-given"), text("")}, resources.Content,
		[]*yaml.Node{scalar(mark + "lines-own"), text("")})
	if err := errors.Join(appended(c, "mounts", "volumeMounts"), appended(c, "env", "env")); err != nil {
		return err
	}
	return appended(pod, "volumes", "spec", "volumes")
}

// claim is of the volume with the App's credentials and the queue, which the release's end must not remove.
func claim(object *yaml.Node) error {
	metadata := at(object, "metadata")
	if at(metadata, "annotations") != nil {
		return fmt.Errorf("it has annotations")
	}
	metadata.Content = append(metadata.Content, scalar("annotations"), &yaml.Node{Kind: yaml.MappingNode})
	set(at(metadata, "annotations"), "helm.sh/resource-policy", "keep")
	requests := at(object, "spec", "resources", "requests")
	if at(requests, "storage") == nil {
		return fmt.Errorf("it asks for no storage")
	}
	set(requests, "storage", mark+"size")
	more(at(object, "spec"), "class")
	return nil
}

// more adds lines of a value to a map.
func more(object *yaml.Node, name string) {
	object.Content = append(object.Content, scalar(mark+"lines-"+name), text(""))
}

// appended adds lines of a value to a list.
func appended(object *yaml.Node, name string, path ...string) error {
	list := at(object, path...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return fmt.Errorf("there is no list %v", path)
	}
	list.Content = append(list.Content, scalar(mark+"lines-"+name))
	return nil
}

// templateOf is an object as text of a template.
func templateOf(object *yaml.Node) (string, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(object); err != nil {
		return "", err
	}
	written := strings.ReplaceAll(b.String(), "{{", `{{ "{{" }}`) // what Prometheus reads
	var unknown error
	value := func(name string) string {
		text, ok := texts[strings.TrimPrefix(name, mark)]
		if !ok {
			unknown = fmt.Errorf("nothing is known of %s", name)
		}
		return text
	}
	written = lineForm.ReplaceAllStringFunc(written, func(line string) string {
		found := lineForm.FindStringSubmatch(line)
		text := value(found[2])
		return strings.NewReplacer("%d", fmt.Sprint(len(found[1])), "%s", found[1]).Replace(text)
	})
	written = markForm.ReplaceAllStringFunc(written, value)
	return written, unknown
}

// at is the node at a path of keys, nil where there is none.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return n
}

func set(n *yaml.Node, name, value string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content[i+1] = scalar(value)
			return
		}
	}
	n.Content = append(n.Content, scalar(name), scalar(value))
}

func scalar(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: value}
}
