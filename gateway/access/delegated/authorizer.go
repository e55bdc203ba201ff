package delegated

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
)

// Authorize implements access.Delegate. A request that was allowed in the last MaxStale is allowed while the kube-apiserver does not answer; one
// that was not allowed never is.
func (d *Delegate) Authorize(identity *authentication.Identity, about authorization.Attributes) error {
	for _, key := range about.Keys {
		if err := d.decide(identity, authorization.Attributes{Verb: about.Verb, Key: key}); err != nil {
			return err
		}
	}
	return d.decide(identity, about)
}

// Kept implements access.Delegate.
func (d *Delegate) Kept(identity *authentication.Identity, about authorization.Attributes) bool {
	for _, key := range about.Keys {
		if !d.keeps(identity, authorization.Attributes{Verb: about.Verb, Key: key}) {
			return false
		}
	}
	return d.keeps(identity, about)
}

func (d *Delegate) keeps(identity *authentication.Identity, about authorization.Attributes) bool {
	return d.has(d.requestKey(identity, about))
}

// has reports whether a request was allowed in the last MaxStale.
func (d *Delegate) has(key digest) bool {
	_, ok := d.allows.Get(key)
	return ok
}

func (d *Delegate) requestKey(identity *authentication.Identity, about authorization.Attributes) digest {
	return d.digest(identity.Name, identity.UID, identity.Groups, identity.Extra, about.Verb, about.Group, about.Version, about.Resource, about.Subresource,
		about.Namespace, about.Name, about.FieldSelector, about.LabelSelector, about.Key, about.Path)
}

func (d *Delegate) decide(identity *authentication.Identity, about authorization.Attributes) error {
	key := d.requestKey(identity, about)
	if !d.availability.Away() {
		clients := d.clients()
		answer, err := d.ask(key, clients.authorizer, identity, about)
		if answer.denies(err) && d.has(key) {
			answer, err = d.askAgain(key, clients, identity, about)
		}
		switch {
		case answer.denies(err):
			d.allows.Remove(key)
			d.count(subjectReview, denied)
			return about.ForbiddenBecause(identity.Name, answer.reason)
		case err == nil:
			d.allows.Add(key, struct{}{}, MaxStale)
			d.count(subjectReview, allowed)
			return nil
		case !d.failed(subjectReview, err):
			d.count(subjectReview, undecided)
			return errRights
		}
	}
	if d.has(key) {
		d.count(subjectReview, earlier)
		return nil
	}
	d.count(subjectReview, undecided)
	return access.ErrUndecided
}

// subjectAnswer is the answer to a SubjectAccessReview.
type subjectAnswer struct {
	decision authorizer.Decision
	reason   string
}

// denies reports whether the kube-apiserver has decided that the request is not allowed.
func (a subjectAnswer) denies(err error) bool {
	return a.decision == authorizer.DecisionDeny || err == nil && a.decision != authorizer.DecisionAllow
}

// ask asks the kube-apiserver about a request. Requests with the same key at the same time share one question, because the authorizer of Kubernetes
// caches answers, but not questions.
func (d *Delegate) ask(key digest, by authorizer.Authorizer, identity *authentication.Identity, about authorization.Attributes) (subjectAnswer, error) {
	got, err, _ := d.asked.Do(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), reviewTimeout) //nolint:forbidigo // access.Delegate has none
		defer cancel()
		decision, reason, err := by.Authorize(ctx, record(identity, about))
		return subjectAnswer{decision, reason}, err
	})
	return got.(subjectAnswer), err
}

// askAgain asks about a request that was allowed before and is denied now, past the cache and only if the kube-apiserver is ready: one that starts denies
// what is allowed by roles that it has not read yet.
func (d *Delegate) askAgain(key digest, clients *Clients, identity *authentication.Identity, about authorization.Attributes) (subjectAnswer, error) {
	if err := d.check(clients); err != nil {
		return subjectAnswer{decision: authorizer.DecisionNoOpinion}, err
	}
	return d.ask(d.digest("again", key), clients.newestAuthorizer, identity, about)
}

// record returns a request in the form of Kubernetes.
func record(identity *authentication.Identity, about authorization.Attributes) authorizer.Attributes {
	r := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: identity.Name, UID: identity.UID, Groups: identity.Groups, Extra: identity.Extra}, Verb: about.Verb,
	}
	if about.Resource == "" {
		r.Path = pathOf(about)
		return r
	}
	r.ResourceRequest, r.APIGroup, r.APIVersion, r.Resource, r.Subresource = true, about.Group, about.Version, about.Resource, about.Subresource
	r.Namespace, r.Name = about.Namespace, about.Name
	if about.FieldSelector != "" {
		selector, err := fields.ParseSelector(about.FieldSelector)
		if r.FieldSelectorParsingErr = err; err == nil {
			r.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if about.LabelSelector != "" {
		selector, err := labels.Parse(about.LabelSelector)
		if r.LabelSelectorParsingErr = err; err == nil {
			r.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return r
}

// keysPath is the path below which rules for nonResourceURLs name keys of etcd.
const keysPath = "/v1/keys"

// pathOf returns the path of a request that names no resource. Kubernetes has no rules for keys: /v1/keys/app/a stands for the key /app/a, and
// /v1/keys alone for a key that does not begin with a slash.
func pathOf(about authorization.Attributes) string {
	switch {
	case about.Key == "":
		return about.Path
	case strings.HasPrefix(about.Key, "/"):
		return keysPath + about.Key
	}
	return keysPath
}
