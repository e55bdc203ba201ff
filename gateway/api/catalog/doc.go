// Package catalog knows what is served at this moment: built-in kinds, CustomResourceDefinitions and mounts, each with its cache and its
// documents, as one immutable Snapshot. It follows the definitions in etcd and writes their status. The handlers of api and storage read
// the snapshot; requests for objects do not pass here.
package catalog
