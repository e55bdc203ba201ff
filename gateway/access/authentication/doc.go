// Package authentication finds the user of a request: by a client certificate, a token from a file of hashed tokens, a signed token of an
// OpenID Connect issuer, or a ticket that an authenticated user got for a browser.
//
// A credential that cannot be verified, for example because the issuer is unreachable or its key unknown, is refused. A request with a
// refused credential is refused even where requests without credentials are anonymous. What the user may do, package authorization decides.
package authentication
