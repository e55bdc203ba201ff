package claim

import (
	"encoding/json"
	"fmt"
	"time"

	"revtail/etcdstore"
)

const (
	// markerPrefix is the prefix of the keys of markers. Resources have no such keys, because the prefixes of users begin with a slash.
	markerPrefix = "revtail/claims"

	// markerFormat is the format of the data that this release writes. A release that does not know a format leaves the data alone.
	markerFormat = 1
)

// MarkerKey returns the key of a prefix's marker, such as revtail/claims/registry.
func MarkerKey(prefix string) string { return markerPrefix + prefix }

// marker is the value of the key that claims a prefix.
type marker struct {
	Format  int       `json:"format"`
	Prefix  string    `json:"prefix"`
	Made    time.Time `json:"made"`
	Because string    `json:"because"`           // one of the constants below
	Version string    `json:"version,omitempty"` // of the program that made the marker
}

// The reasons for a marker.
const (
	becauseEmpty   = "the prefix was empty"
	becauseAdopted = "--adopt"
	becauseEarlier = "an earlier release of revtail wrote the data"
)

// put is the operation that writes the marker.
func (c *Claim) put(because string) (etcdstore.Op, error) {
	value, err := json.Marshal(marker{Format: markerFormat, Prefix: c.config.Prefix, Made: time.Now().UTC(), Because: because, Version: c.config.Version})
	return etcdstore.Op{Verb: etcdstore.Put, Key: MarkerKey(c.config.Prefix), Value: value}, err
}

// unmarked is the condition that there is no marker.
func (c *Claim) unmarked() etcdstore.Condition {
	return etcdstore.Condition{Key: MarkerKey(c.config.Prefix), Of: etcdstore.OfModified, Is: etcdstore.Equal}
}

// checkMarker returns why a marker does not claim the prefix for this release; empty: it does.
func (c *Claim) checkMarker(kv etcdstore.KV) string {
	var m marker
	switch err := json.Unmarshal(kv.Value, &m); {
	case err != nil, m.Format < 1:
		return fmt.Sprintf("the marker %s cannot be read", kv.Key)
	case m.Format > markerFormat:
		return fmt.Sprintf("the marker %s has format %d, which a newer release of revtail writes: this one knows formats up to %d", kv.Key, m.Format, markerFormat)
	case m.Prefix != c.config.Prefix:
		return fmt.Sprintf("the marker %s is about the prefix %q", kv.Key, m.Prefix)
	}
	return ""
}
