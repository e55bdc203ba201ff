{{/* revtail.validate refuses values that are not what they should be, or contradict each other. values.schema.json refuses unknown values
and wrong types. */}}
{{- define "revtail.validate" -}}
{{- include "revtail.validateAccess" . -}}
{{- include "revtail.validateEtcd" . -}}
{{- include "revtail.validateRoutes" . -}}
{{- $name := .Values.fullnameOverride -}}
{{- if and $name (not (regexMatch "^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$" $name)) -}}
{{- fail (printf "fullnameOverride %q: want up to 50 lower case letters, digits and -, as revtail" $name) -}}
{{- end -}}
{{- if regexMatch "[:@][^/]*$" .Values.image.repository -}}
{{- fail (printf "image.repository %q: want it without a tag, as registry.example.com/revtail; image.tag has the tag" .Values.image.repository) -}}
{{- end -}}
{{- if not (regexMatch "^([0-9]+(ms|s|m|h))+$" .Values.monitoring.interval) -}}
{{- fail (printf "monitoring.interval %q: want a duration, as 30s" .Values.monitoring.interval) -}}
{{- end -}}
{{- if and .Values.monitoring.serviceMonitor (not .Values.authentication.tokens.enabled) (not .Values.authentication.anonymous) -}}
{{- fail "monitoring.serviceMonitor: Prometheus authenticates with a token: want authentication.tokens.enabled=true" -}}
{{- end -}}
{{- end -}}

{{- define "revtail.validateAccess" -}}
{{- $auth := .Values.authentication -}}
{{- $lacks := list -}}
{{- if not .Values.tls.enabled }}{{ $lacks = append $lacks "no TLS (tls.enabled)" }}{{ end -}}
{{- if not (include "revtail.authenticates" .) }}{{ $lacks = append $lacks "no authentication (authentication.tokens.enabled, authentication.clientCA.secretName or authentication.oidc.issuerURL)" }}{{ end -}}
{{- if and $lacks (not $auth.anonymous) -}}
{{- fail (printf "%s: every client in the network could read and change the keys under %s in etcd. Give it both, or set authentication.anonymous=true if that is meant" (join " and " $lacks) .Values.etcd.prefix) -}}
{{- end -}}
{{- if and $auth.clientCA.secretName (not .Values.tls.enabled) -}}
{{- fail "authentication.clientCA.secretName: certificates of clients need tls.enabled=true" -}}
{{- end -}}
{{- with $auth.oidc -}}
{{- if and .issuerURL (not (regexMatch "^https://[^/ ]+" .issuerURL)) -}}
{{- fail (printf "authentication.oidc.issuerURL %q: want an https:// URL, as https://accounts.example.com" .issuerURL) -}}
{{- end -}}
{{- if and .issuerURL (not .clientID) -}}
{{- fail "authentication.oidc.clientID: want the audience of the issuer's tokens, as revtail" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.policy.rules .Values.policy.configMapName -}}
{{- fail "policy.rules and policy.configMapName: want one of them" -}}
{{- end -}}
{{- end -}}

{{- define "revtail.validateEtcd" -}}
{{- $endpoints := .Values.etcd.endpoints -}}
{{- range $endpoints -}}
{{- if not (regexMatch "^https?://[^/, ]+:[0-9]+$" .) -}}
{{- fail (printf "etcd.endpoints: %q: want a URL with a port, as https://etcd-1.example.com:2379" .) -}}
{{- end -}}
{{- if ne (hasPrefix "https://" .) (hasPrefix "https://" (first $endpoints)) -}}
{{- fail (printf "etcd.endpoints: %s and %s: want https:// in all of them, or http:// in all" (first $endpoints) .) -}}
{{- end -}}
{{- end -}}
{{- if not (hasPrefix "/" .Values.etcd.prefix) -}}
{{- fail (printf "etcd.prefix %q: want a path, as /registry" .Values.etcd.prefix) -}}
{{- end -}}
{{- if and .Values.etcd.user (not $endpoints) -}}
{{- fail (printf "etcd.user %q: the chart's own etcd has no users, it accepts certificates: want etcd.endpoints, or no etcd.user" .Values.etcd.user) -}}
{{- end -}}
{{- if and (not .Values.etcd.clientCertificate) (not $endpoints) -}}
{{- fail "etcd.clientCertificate=false: the chart's own etcd accepts only clients with a certificate: want etcd.endpoints, or etcd.clientCertificate=true" -}}
{{- end -}}
{{- if not (regexMatch "^[0-9]+(\\.[0-9]+)?([EPTGMK]i?)?$" .Values.ownEtcd.storage.size) -}}
{{- fail (printf "ownEtcd.storage.size %q: want a size, as 10Gi" .Values.ownEtcd.storage.size) -}}
{{- end -}}
{{- end -}}

{{- define "revtail.validateRoutes" -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host: want the name of the gateways for clients, as revtail.example.com" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: want the Gateway of the route, as [{name: my-gateway, namespace: gateways}]" -}}
{{- end -}}
{{- if and .Values.certManager.enabled .Values.tls.enabled (not .Values.certManager.issuerRef.name) -}}
{{- fail "certManager.issuerRef.name: want the name of an Issuer" -}}
{{- end -}}
{{- if and .Values.certManager.enabled (include "revtail.ownEtcd" .) (not .Values.certManager.etcdIssuerRef.name) -}}
{{- fail "certManager.etcdIssuerRef.name: want the name of an Issuer whose authority signs for etcd alone" -}}
{{- end -}}
{{- end -}}
