package etcdstore

import (
	"context"

	"go.etcd.io/etcd/api/v3/authpb"
)

// Rights are what a user of etcd may do.
type Rights struct {
	Authentication bool     // false: everybody may do everything
	Writable       []string // prefixes, keys, and ranges as a..b, that the user may write; "": all keys
}

// rootRole may do everything.
const rootRole = "root"

// Rights returns the rights of a user, from etcd's own tables: nothing is tried. A user may read its own rights and no others: ErrDenied.
func (e *Etcd) Rights(ctx context.Context, user string) (Rights, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if status, err := e.client.AuthStatus(ctx); err == nil && !status.Enabled { // with authentication, root alone may ask
		return Rights{}, nil
	}
	rights := Rights{Authentication: true}
	found, err := e.client.UserGet(ctx, user)
	if err != nil {
		return rights, toError(ctx, err, 0, false)
	}
	for _, name := range found.Roles {
		if name == rootRole {
			rights.Writable = append(rights.Writable, "")
			continue
		}
		role, err := e.client.RoleGet(ctx, name)
		if err != nil {
			return rights, toError(ctx, err, 0, false)
		}
		for _, permission := range role.Perm {
			if permission.PermType != authpb.Permission_READ {
				rights.Writable = append(rights.Writable, rangeName(string(permission.Key), string(permission.RangeEnd)))
			}
		}
	}
	return rights, nil
}

// rangeName returns a prefix as it is, with an empty one for all keys, and another range as a..b.
func rangeName(key, end string) string {
	switch {
	case end == "\x00" && (key == "" || key == "\x00"):
		return ""
	case end == "", len(key) > 0 && end == key[:len(key)-1]+string(key[len(key)-1]+1):
		return key
	}
	return key + ".." + end
}
