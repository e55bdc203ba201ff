#!/bin/sh
# Counts in the ConfigMap at $URL, one step a second, from where it stands. A step is tried until it is acknowledged: to apply
# the same state twice changes nothing.
apply() {
	curl -sf -o /dev/null --max-time 5 -X PATCH -H 'Content-Type: application/apply-patch+yaml' "$URL?fieldManager=writer&force=true" -d "{
		\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"counter\"}, \"data\": {\"count\": \"$1\"}}"
}

until count=$(curl -s --max-time 5 "$URL" | sed -n 's/^ *"count": "\([0-9]*\)".*/\1/p') && apply "${count:=0}"; do sleep 1; done
while :; do
	count=$((count + 1))
	until apply "$count"; do sleep 0.2; done
	sleep 1
done
