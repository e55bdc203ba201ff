// Package token has the command token, which makes bearer tokens for a --token-file.
package token
