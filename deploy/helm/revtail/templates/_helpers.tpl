{{- define "revtail.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "revtail" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-revtail" (.Release.Name | trunc 42 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* revtail.gateway and revtail.etcd are the labels by which Services and policies select pods. */}}
{{- define "revtail.gateway" -}}
app.kubernetes.io/name: revtail
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "revtail.etcd" -}}
app.kubernetes.io/name: revtail
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: etcd
{{- end -}}

{{- define "revtail.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{/* revtail.name of (list . value suffix): the name that a value gives, or the default one. */}}
{{- define "revtail.name" -}}
{{- index . 1 | default (printf "%s-%s" (include "revtail.fullname" (index . 0)) (index . 2)) -}}
{{- end -}}

{{- define "revtail.tlsSecret" -}}{{ include "revtail.name" (list . .Values.tls.secretName "tls") }}{{- end -}}
{{- define "revtail.tokensSecret" -}}{{ include "revtail.name" (list . .Values.authentication.tokens.secretName "tokens") }}{{- end -}}
{{- define "revtail.policyConfigMap" -}}{{ include "revtail.name" (list . .Values.policy.configMapName "policy") }}{{- end -}}
{{- define "revtail.etcdSecret" -}}{{ include "revtail.name" (list . .Values.etcd.secretName "etcd") }}{{- end -}}
{{- define "revtail.etcdPasswordSecret" -}}{{ include "revtail.name" (list . .Values.etcd.passwordSecretName "etcd-password") }}{{- end -}}
{{- define "revtail.etcdServerSecret" -}}{{ include "revtail.name" (list . .Values.ownEtcd.secretName "etcd-server") }}{{- end -}}
{{- define "revtail.metricsSecret" -}}{{ include "revtail.name" (list . .Values.monitoring.tokenSecretName "metrics") }}{{- end -}}

{{/* The following are true or empty. */}}
{{- define "revtail.ownEtcd" -}}{{ if not .Values.etcd.endpoints }}true{{ end }}{{- end -}}
{{- define "revtail.etcdTLS" -}}{{ if or (include "revtail.ownEtcd" .) (hasPrefix "https://" (first .Values.etcd.endpoints)) }}true{{ end }}{{- end -}}
{{- define "revtail.authenticates" -}}
{{- with .Values.authentication -}}
{{- if or .tokens.enabled .clientCA.secretName .oidc.issuerURL }}true{{ end -}}
{{- end -}}
{{- end -}}
{{- define "revtail.hasPolicy" -}}{{ if or .Values.policy.rules .Values.policy.configMapName }}true{{ end }}{{- end -}}

{{/* Names within the namespace need neither the namespace nor the domain of the cluster; the certificates have the same names. */}}
{{- define "revtail.members" -}}
{{- $name := include "revtail.fullname" . -}}
{{- $members := list -}}
{{- range $i := until 3 -}}
{{- $members = append $members (printf "%s-etcd-%d.%s-etcd" $name $i $name) -}}
{{- end -}}
{{- join "," $members -}}
{{- end -}}

{{- define "revtail.scheme" -}}{{ if .Values.tls.enabled }}https{{ else }}http{{ end }}{{- end -}}
