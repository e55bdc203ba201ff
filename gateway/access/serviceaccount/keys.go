package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/client-go/util/keyutil"
)

// algorithms are those of keys, for RSA and for the three curves. Others are not accepted, above all no shared secrets and "none".
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// minimumRSA is the minimum size of an RSA key, in bits.
const minimumRSA = 2048

// Keys are the keys of an issuer. They are immutable.
type Keys struct {
	signer jose.Signer       // nil: tokens are only verified
	public []jose.JSONWebKey // that verify tokens, without duplicates; that of signer comes first
}

// ParseKeys reads the content of a file with the private key that signs tokens (nil: none), and those of files with further public or private keys
// that verify tokens. All are in PEM.
func ParseKeys(signing []byte, verifying ...[]byte) (*Keys, error) {
	keys := &Keys{}
	if signing != nil {
		private, err := keyutil.ParsePrivateKeyPEM(signing)
		if err != nil {
			return nil, errors.New("--service-account-signing-key-file: no private key in PEM, of RSA or of a curve P-256, P-384 or P-521")
		}
		if err = keys.sign(private); err != nil {
			return nil, fmt.Errorf("--service-account-signing-key-file: %w", err)
		}
	}
	for _, content := range verifying {
		found, err := keyutil.ParsePublicKeysPEM(content)
		if private, _ := keyutil.ParsePrivateKeyPEM(content); err != nil { // it knows one more form of private keys, PKCS #8 of curves
			if signer, ok := private.(crypto.Signer); ok {
				found, err = []any{signer.Public()}, nil
			}
		}
		if err != nil {
			return nil, errors.New("--service-account-key-file: no public or private key in PEM, of RSA or of a curve P-256, P-384 or P-521")
		}
		for _, key := range found {
			if _, err = keys.add(key); err != nil {
				return nil, fmt.Errorf("--service-account-key-file: %w", err)
			}
		}
	}
	return keys, nil
}

// sign makes a private key the one that signs.
func (k *Keys) sign(private any) error {
	signer, ok := private.(crypto.Signer)
	if !ok {
		return errWrongKey
	}
	public, err := k.add(signer.Public())
	if err != nil {
		return err
	}
	k.signer, err = jose.NewSigner(jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(public.Algorithm), Key: jose.JSONWebKey{Key: private, KeyID: public.KeyID},
	}, nil)
	return err
}

// add adds a public key, and returns it with its id: the digest of the key, as in Kubernetes.
func (k *Keys) add(public crypto.PublicKey) (key jose.JSONWebKey, err error) {
	algorithm, err := algorithmOf(public)
	if err != nil {
		return key, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return key, err
	}
	digest := sha256.Sum256(der)
	key = jose.JSONWebKey{Key: public, KeyID: base64.RawURLEncoding.EncodeToString(digest[:]), Algorithm: string(algorithm), Use: "sig"}
	if !slices.ContainsFunc(k.public, func(known jose.JSONWebKey) bool { return known.KeyID == key.KeyID }) {
		k.public = append(k.public, key)
	}
	return key, nil
}

var errWrongKey = errors.New("want a key of RSA, or of a curve P-256, P-384 or P-521")

func algorithmOf(public crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minimumRSA {
			return "", fmt.Errorf("an RSA key of %d bits can be broken: want %d or more", bits, minimumRSA)
		}
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch key.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	}
	return "", errWrongKey
}

// find returns the keys that may have signed a token with a header: one, or without a key id all of its algorithm.
func (k *Keys) find(header jose.Header) (found []jose.JSONWebKey) {
	for _, key := range k.public {
		if key.Algorithm == header.Algorithm && (header.KeyID == "" || header.KeyID == key.KeyID) {
			found = append(found, key)
		}
	}
	return found
}
