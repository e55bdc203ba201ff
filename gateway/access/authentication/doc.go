// Package authentication finds out who makes a request: by the client's certificate, by a token of a file of hashed tokens, by
// a signed token of an OpenID Connect issuer, or by a ticket that somebody who is known took for a browser.
//
// What cannot be checked is not believed: an issuer that cannot be reached, a key that is not known. A request with a credential
// that is refused is refused, also where requests without any are let in.
package authentication
