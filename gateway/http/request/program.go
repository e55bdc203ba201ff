package request

import (
	"strings"
	"unicode"
	"unicode/utf8"

	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// Program is the program of a User-Agent header, its part before the first slash, as the name of a field manager.
func Program(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, c := range name {
		if !unicode.IsPrint(c) {
			continue
		}
		if out.Len()+utf8.RuneLen(c) > metavalidation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(c)
	}
	return out.String()
}
