package authentication

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apiserver/pkg/authentication/user"
)

// The names of Kubernetes to which rules may refer.
const (
	AnonymousName      = "system:anonymous"
	UnauthenticatedAll = "system:unauthenticated" // the group of users without credentials
	AuthenticatedAll   = "system:authenticated"   // the group of all others
	reserved           = "system:"
)

// Identity is the user of a request. It is immutable.
type Identity struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string // of service accounts and of impersonated users

	Expires   time.Time   // end of validity; zero: none
	still     func() bool // whether the credential is still valid; nil: until Expires
	revocable bool        // still may change although Authenticator.Generation does not
}

// Anonymous returns the user of requests without a credential.
func Anonymous() *Identity {
	return &Identity{Name: AnonymousName, Groups: []string{UnauthenticatedAll}}
}

// Holds reports whether the credential is valid at a time. Open streams are checked with it periodically.
func (i *Identity) Holds(now time.Time) bool {
	return !i.expired(now) && (i.still == nil || i.still())
}

// MayHaveEnded reports whether the credential may be invalid at a time although Authenticator.Generation has not changed: Holds knows.
func (i *Identity) MayHaveEnded(now time.Time) bool { return i.revocable || i.expired(now) }

// Revocable reports whether only the issuer of the credential knows if it is still valid: Holds may ask another server then.
func (i *Identity) Revocable() bool { return i.revocable }

func (i *Identity) expired(now time.Time) bool { return !i.Expires.IsZero() && !now.Before(i.Expires) }

// known returns the identity of an authenticated user.
func known(name, uid string, groups []string, expires time.Time) (*Identity, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	all := make([]string, 0, len(groups)+1)
	for _, group := range groups {
		if err := checkName(group); err != nil {
			return nil, err
		}
		if group == UnauthenticatedAll {
			return nil, errors.New("the group " + group + " is reserved for requests without credentials")
		}
		if group != AuthenticatedAll {
			all = append(all, group)
		}
	}
	if name == AnonymousName {
		return nil, errors.New("the name " + name + " is reserved for requests without credentials")
	}
	return &Identity{Name: name, UID: uid, Groups: append(all, AuthenticatedAll), Expires: expires}, nil
}

// Revocable returns the identity of a user whose credential may end at any time before it expires: still reports whether it has not. The names are
// those of objects that exist.
func Revocable(info user.Info, expires time.Time, still func() bool) *Identity {
	return &Identity{Name: info.GetName(), UID: info.GetUID(), Groups: append(info.GetGroups(), AuthenticatedAll), Extra: info.GetExtra(),
		Expires: expires, still: still, revocable: true}
}

// Reviewed returns the identity of a user whom another server has named, with exactly these groups. still reports whether that server still
// accepts the credential.
func Reviewed(info user.Info, still func() bool) *Identity {
	return &Identity{Name: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: info.GetExtra(), still: still, revocable: true}
}

// Impersonated is a user as whom another one acts.
type Impersonated struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Equal reports whether two identities are the same user, with the same groups and extras.
func (i *Identity) Equal(other *Identity) bool {
	return i.Name == other.Name && i.UID == other.UID && slices.Equal(i.Groups, other.Groups) && maps.EqualFunc(i.Extra, other.Extra, slices.Equal)
}

// Impersonate returns the identity of another user, which is valid as long as i. Like every user it is in the group of authenticated users,
// unless it is the anonymous one.
func (i *Identity) Impersonate(as Impersonated) (*Identity, error) {
	for _, name := range append([]string{as.Name}, as.Groups...) {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	all := UnauthenticatedAll
	if as.Name != AnonymousName && !slices.Contains(as.Groups, UnauthenticatedAll) {
		all = AuthenticatedAll
	}
	groups := slices.Clone(as.Groups)
	if !slices.Contains(groups, all) {
		groups = append(groups, all)
	}
	return &Identity{Name: as.Name, UID: as.UID, Groups: groups, Extra: as.Extra, Expires: i.Expires, still: i.still, revocable: i.revocable}, nil
}

// maxName limits names, in bytes, because logs and messages have them.
const maxName = 256

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case len(name) > maxName:
		return errors.New("a name is too long")
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }):
		return errors.New("a name has characters that cannot be printed")
	}
	return nil
}
