#!/bin/sh
# Follows a collection for ever, one event a line: follow.sh URL. Whatever happens to the gateway that answers, it goes on after
# the last event that it saw, on any other gateway, and loses none. That is all that a client has to do.
url=$1
at=$(mktemp)
trap 'rm -f "$at"' EXIT
trap exit INT TERM

version() { sed -n 's/.*"metadata":{"resourceVersion":"\([0-9]*\)".*/\1/p'; }

while :; do
	if [ ! -s "$at" ]; then # the state, and the revision at which it is true
		curl -sf --max-time 30 "$url?pretty=false" >"$at.list" && version <"$at.list" >"$at"
		cat "$at.list" 2>/dev/null && rm -f "$at.list"
	fi
	[ -s "$at" ] && curl -sN "$url?watch=1&allowWatchBookmarks=true&resourceVersion=$(cat "$at")" | while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		'{"type":"ERROR"'*) : >"$at" ;; # 410: what happened since is no longer known, so begin again with the state
		'{"type":'*'}') printf '%s\n' "$line" | version >"$at" ;;
		esac
	done
	sleep 0.5
done
