package serviceaccount

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	kubernetes "k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// claims are the content of a token, with the members of Kubernetes.
type claims struct {
	jwt.Claims
	Kubernetes bound `json:"kubernetes.io"`
}

// bound are the objects that a token is bound to.
type bound struct {
	Namespace      string     `json:"namespace"`
	ServiceAccount Reference  `json:"serviceaccount"`
	Pod            *Reference `json:"pod,omitempty"`
	Secret         *Reference `json:"secret,omitempty"`
	Node           *Reference `json:"node,omitempty"` // with a Pod: its node, to which the token is not bound
}

// Reference names an object. The uid tells it from an earlier or later one of the same name.
type Reference struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"` // empty: a node that does not exist
}

// skew is how much the clocks of two gateways may differ.
const skew = time.Minute

// check returns why a token is not valid at a time, by its content alone.
func (c *claims) check(now time.Time) error {
	b := c.Kubernetes
	switch {
	case c.Expiry == nil || b.Namespace == "" || b.ServiceAccount.Name == "" || b.ServiceAccount.UID == "":
		return errors.New("the token lacks a claim")
	case c.Subject != kubernetes.MakeUsername(b.Namespace, b.ServiceAccount.Name):
		return errors.New("the token is of another subject than of its service account")
	case !now.Before(c.Expiry.Time()):
		return errors.New("service account token has expired")
	case c.NotBefore != nil && now.Add(skew).Before(c.NotBefore.Time()), c.IssuedAt != nil && now.Add(skew).Before(c.IssuedAt.Time()):
		return errors.New("service account token is not valid yet")
	}
	return nil
}

// checkAudiences returns those of the wanted audiences that a token has; an error: none.
func (c *claims) checkAudiences(wanted []string) (common []string, err error) {
	for _, audience := range c.Audience {
		if slices.Contains(wanted, audience) {
			common = append(common, audience)
		}
	}
	if len(common) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", c.Audience, wanted) // Kubernetes' words
	}
	return common, nil
}

// info returns the user of a token in the form of Kubernetes, with its extra fields.
func (c *claims) info() *kubernetes.ServiceAccountInfo {
	b := c.Kubernetes
	info := &kubernetes.ServiceAccountInfo{Namespace: b.Namespace, Name: b.ServiceAccount.Name, UID: b.ServiceAccount.UID}
	if c.ID != "" {
		info.CredentialID = "JTI=" + c.ID
	}
	if b.Pod != nil {
		info.PodName, info.PodUID = b.Pod.Name, b.Pod.UID
	}
	if b.Node != nil {
		info.NodeName, info.NodeUID = b.Node.Name, b.Node.UID
	}
	return info
}
