package request_test

import (
	"testing"

	"revtail/gateway/http/request"
)

func TestRedact(t *testing.T) {
	for query, want := range map[string]string{
		"":                                  "",
		"labelSelector=a%3Db&limit=5":       "labelSelector=a%3Db&limit=5",
		"continue=x&fieldSelector=a":        "continue=x&fieldSelector=a",
		"token=canary":                      "token=hidden",
		"Token=canary":                      "Token=hidden",
		"TICKET=canary&watch=1":             "TICKET=hidden&watch=1",
		"T%4fken=canary":                    "TOken=hidden",
		"%54%49%43%4B%45%54=canary":         "TICKET=hidden",
		"token=canary&token=canary":         "token=hidden",
		"ToKeN=canary&token=canary":         "ToKeN=hidden&token=hidden",
		"access_token=canary":               "access_token=hidden",
		"X-Auth-Token=canary":               "X-Auth-Token=hidden",
		"Authorization=Bearer+canary":       "Authorization=hidden",
		"client_secret=canary&Password=abc": "Password=hidden&client_secret=hidden",
		"canary;token=canary":               "malformed",
		"token=canary%zz":                   "malformed",
	} {
		if got := request.Redact(query); got != want {
			t.Errorf("Redact(%q) = %q, want %q", query, got, want)
		}
	}
}
