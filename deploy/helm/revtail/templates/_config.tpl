{{/* revtail.config is the content of the file of --config: config of the values, and what follows from the other values. */}}
{{- define "revtail.config" -}}
{{- $c := dict "apiVersion" "revtail/v1" "listen" (list "0.0.0.0:8443") "adminListen" "127.0.0.1:8081" -}}
{{- $_ := set $c "drainDelay" (printf "%ds" (int .Values.drain.delaySeconds)) -}}
{{- $_ := set $c "drainGrace" (printf "%ds" (int .Values.drain.graceSeconds)) -}}
{{- if .Values.tls.enabled -}}
{{- $_ := set $c "tlsCertFile" "/etc/revtail/tls/tls.crt" -}}
{{- $_ := set $c "tlsPrivateKeyFile" "/etc/revtail/tls/tls.key" -}}
{{- end -}}
{{- include "revtail.configAccess" (list . $c) -}}
{{- include "revtail.configEtcd" (list . $c) -}}
{{- range $key, $value := .Values.config -}}
{{- if and (hasKey $c $key) (ne $key "history") -}}
{{- fail (printf "config.%s: the chart sets this option from other values; config is for the options that have no value of their own" $key) -}}
{{- end -}}
{{- $_ := set $c $key $value -}}
{{- end -}}
{{- toYaml $c -}}
{{- end -}}

{{- define "revtail.configAccess" -}}
{{- $c := index . 1 -}}
{{- with (index . 0).Values -}}
{{- if .authentication.anonymous }}{{ $_ := set $c "anonymous" true }}{{ end -}}
{{- if .authentication.tokens.enabled }}{{ $_ := set $c "tokenFile" "/etc/revtail/tokens/tokens.yaml" }}{{ end -}}
{{- if .authentication.clientCA.secretName }}{{ $_ := set $c "clientCaFile" "/etc/revtail/client-ca/ca.crt" }}{{ end -}}
{{- with .authentication.oidc -}}
{{- if .issuerURL -}}
{{- $options := dict "oidcIssuerUrl" .issuerURL "oidcClientId" .clientID "oidcUsernameClaim" .usernameClaim "oidcUsernamePrefix" .usernamePrefix "oidcGroupsClaim" .groupsClaim "oidcGroupsPrefix" .groupsPrefix "oidcCaFile" (.caSecretName | empty | ternary "" "/etc/revtail/oidc-ca/ca.crt") -}}
{{- range $key, $value := $options }}{{ if $value }}{{ $_ := set $c $key $value }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if or .policy.rules .policy.configMapName }}{{ $_ := set $c "policyFile" "/etc/revtail/policy/policy.yaml" }}{{ end -}}
{{- if .encryption.secretName }}{{ $_ := set $c "encryptionProviderConfig" "/etc/revtail/encryption/encryption.yaml" }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "revtail.configEtcd" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $endpoints := $root.Values.etcd.endpoints -}}
{{- if include "revtail.ownEtcd" $root -}}
{{- range splitList "," (include "revtail.members" $root) }}{{ $endpoints = append $endpoints (printf "https://%s:2379" .) }}{{ end -}}
{{- $_ := set $c "history" "1h" -}}
{{- end -}}
{{- $_ := set $c "etcdEndpoints" $endpoints -}}
{{- $_ := set $c "etcdPrefix" $root.Values.etcd.prefix -}}
{{- if include "revtail.etcdTLS" $root -}}
{{- $_ := set $c "etcdCacert" "/etc/revtail/etcd/ca.crt" -}}
{{- if $root.Values.etcd.clientCertificate -}}
{{- $_ := set $c "etcdCert" "/etc/revtail/etcd/tls.crt" -}}
{{- $_ := set $c "etcdKey" "/etc/revtail/etcd/tls.key" -}}
{{- end -}}
{{- end -}}
{{- if $root.Values.etcd.user -}}
{{- $_ := set $c "etcdUser" $root.Values.etcd.user -}}
{{- $_ := set $c "etcdPasswordFile" "/etc/revtail/etcd-password/password" -}}
{{- end -}}
{{- end -}}
