{{/* revtail.volumes are the Secrets and ConfigMaps that the gateways mount below /etc/revtail, except their own configuration. They are
reloaded when they change. */}}
{{- define "revtail.volumes" -}}
{{- $auth := .Values.authentication -}}
{{- if .Values.tls.enabled }}
- {name: tls, secret: {{ include "revtail.tlsSecret" . }}}
{{- end }}
{{- if include "revtail.etcdTLS" . }}
- {name: etcd, secret: {{ include "revtail.etcdSecret" . }}}
{{- end }}
{{- if .Values.etcd.user }}
- {name: etcd-password, secret: {{ include "revtail.etcdPasswordSecret" . }}}
{{- end }}
{{- if $auth.tokens.enabled }}
- {name: tokens, secret: {{ include "revtail.tokensSecret" . }}}
{{- end }}
{{- with $auth.clientCA.secretName }}
- {name: client-ca, secret: {{ . }}}
{{- end }}
{{- if and $auth.oidc.issuerURL $auth.oidc.caSecretName }}
- {name: oidc-ca, secret: {{ $auth.oidc.caSecretName }}}
{{- end }}
{{- if include "revtail.hasPolicy" . }}
- {name: policy, configMap: {{ include "revtail.policyConfigMap" . }}}
{{- end }}
{{- with .Values.encryption.secretName }}
- {name: encryption, secret: {{ . }}}
{{- end }}
{{- end -}}
