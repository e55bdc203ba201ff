package authentication

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"time"
)

// certificateTrust is how long the result of a verification is cached while the authorities do not change.
const certificateTrust = time.Minute

// byCertificate returns the user of a certificate as Kubernetes does: the common name is the user name, the organizations are the groups.
// The handshake has verified that the client has the key, but the authorities may have changed since.
func (a *Authenticator) byCertificate(chain []*x509.Certificate) (*Identity, error) {
	generation := a.Authorities.Generation()
	key := sha256.Sum256(binary.BigEndian.AppendUint64(chain[0].Raw, generation))
	if known, ok := a.certificates.get(key); ok {
		return known.identity, known.err
	}
	identity, err := a.checkCertificate(chain)
	a.certificates.Add(key, outcome{identity, err}, certificateTrust)
	return identity, err
}

func (a *Authenticator) checkCertificate(chain []*x509.Certificate) (*Identity, error) {
	if err := a.Authorities.VerifyClient(chain); err != nil {
		return nil, err
	}
	leaf := chain[0]
	identity, err := known(leaf.Subject.CommonName, "", leaf.Subject.Organization, leaf.NotAfter)
	if err != nil {
		return nil, err
	}
	identity.still = func() bool {
		again, err := a.byCertificate(chain)
		return err == nil && again != nil
	}
	return identity, nil
}
