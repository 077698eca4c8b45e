{{- /* The labels of every object. */ -}}
{{- define "lintel.labels" -}}
app.kubernetes.io/name: lintel
app.kubernetes.io/part-of: lintel
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The settings, as text: numbers of a file of values are floating point. */ -}}
{{- define "lintel.config" -}}
{{- $config := deepCopy .Values.config }}
{{- with .Values.publicURL }}{{ $_ := set $config "LINTEL_PUBLIC_URL" . }}{{ end }}
{{- if .Values.register }}{{ $_ := set $config "LINTEL_GITHUB_APP_ID" "" }}{{ end }}
{{- range $name, $value := $config }}
{{- if kindIs "float64" $value }}{{ $value = int64 $value }}{{ end }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end -}}
