package object

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/codec"
	"revtail/gateway/http/status"
)

// reservedTokens are left for what the server adds to an object later, such as a deletionTimestamp or the resourceVersion of a response, so
// that clients can send back whatever they read.
const reservedTokens = 100

// CheckSize refuses an object that clients could not send back, because it exceeds the limits of a body. An object that another program
// stored may exceed them, unless the change makes it larger.
func CheckSize(next, old Object) error {
	tokens, err := codec.Tokens(next.Object)
	if err == nil && tokens > codec.MaxTokens-reservedTokens {
		if before, failed := codec.Tokens(old.Object); failed != nil || tokens > before {
			err = &codec.LimitError{What: "tokens", Limit: codec.MaxTokens - reservedTokens}
		}
	}
	if err == nil {
		return nil
	}
	return TooLarge("the object would be too large to be sent back: " + err.Error() + "; remove a part of it, or divide it into several objects")
}

// TooLarge returns the Status 413 with a message.
func TooLarge(message string) error {
	return status.Error(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
}
