package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// minTokenExpiration is what every request for a token of a service account may ask for, as in Kubernetes.
const minTokenExpiration = 10 * time.Minute

func (c Config) validateServiceAccounts() error {
	var errs []error
	for i, issuer := range c.ServiceAccountIssuer {
		_, err := url.Parse(issuer)
		switch {
		case issuer == "", strings.Contains(issuer, ":") && err != nil:
			errs = append(errs, fmt.Errorf("--service-account-issuer %q: want a URL, as https://revtail.example.com, or a name without a colon", issuer))
		case slices.Contains(c.ServiceAccountIssuer[:i], issuer):
			errs = append(errs, fmt.Errorf("--service-account-issuer %s is given twice", issuer))
		case issuer == c.OIDCIssuerURL:
			errs = append(errs, fmt.Errorf("--service-account-issuer %s is the issuer of --oidc-issuer-url too: its tokens cannot be those of service accounts", issuer))
		}
	}
	if len(c.ServiceAccountIssuer) > 0 && c.ServiceAccountSigningKeyFile == "" && len(c.ServiceAccountKeyFile) == 0 {
		errs = append(errs, errors.New("--service-account-issuer needs --service-account-signing-key-file, to sign tokens, or --service-account-key-file, to verify "+
			"those that another server signs; openssl genrsa -out FILE 3072 makes a key"))
	}
	if slices.Contains(c.ServiceAccountKeyFile, "") {
		errs = append(errs, errors.New("--service-account-key-file: the name of a file is empty"))
	}
	if slices.Contains(c.APIAudiences, "") {
		errs = append(errs, errors.New("--api-audiences: an audience is empty"))
	}
	if d := c.ServiceAccountMaxTokenExpiration; d != 0 && d < minTokenExpiration {
		errs = append(errs, fmt.Errorf("--service-account-max-token-expiration %v: want %v or more, as 24h, or 0", d, minTokenExpiration))
	}
	return errors.Join(errs...)
}
