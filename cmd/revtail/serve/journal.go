package serve

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/api/changes"
)

// openJournal makes the store of the gateway: etcd, with the journal of --history-dir for what etcd has compacted, and the decryption of the values
// of both.
func (p *process) openJournal(context.Context) (err error) {
	var store etcdstore.Store = p.etcd.Store
	if p.cfg.HistoryDir != "" {
		p.warnOfAllKeys()
		if p.journal, err = journal.Open(p.cfg.HistoryDir, p.logger); err != nil {
			return command.UsageError(err)
		}
		p.recorder, err = journal.NewRecorder(p.journal, journal.Config{
			Store: p.etcd.Store, Prefixes: p.recordedPrefixes(), Omit: omitPlainSecrets(p.cfg.EtcdPrefix),
			Retention: p.cfg.HistoryRetention, MaxSize: int64(p.cfg.HistoryMaxSize), Logger: p.logger,
		})
		if err != nil {
			return err
		}
		store = journal.NewStore(store, p.recorder)
	}
	p.store = p.encrypted(store)
	if p.recorder != nil {
		p.history = &changes.Source{Store: p.decrypting(journal.NewRecorded(p.etcd.Store, p.recorder)), Recorder: p.recorder}
	}
	return nil
}

func (p *process) closeJournal() error {
	if p.journal == nil {
		return nil
	}
	return p.journal.Close()
}

// recordedPrefixes are the prefixes of the keys that the gateway serves. None begins with another one.
func (p *process) recordedPrefixes() []string {
	all := []string{p.cfg.EtcdPrefix + "/"}
	for _, m := range p.cfg.Mounts {
		all = append(all, m.Prefix)
	}
	all = slices.Concat(all, p.cfg.Keys, p.cfg.KeysWritable)
	slices.Sort(all)
	var out []string
	for _, prefix := range all {
		if prefix == "" || prefix == "*" { // a watch of every key would need a prefix without bytes
			continue
		}
		if n := len(out); n == 0 || !strings.HasPrefix(prefix, out[n-1]) {
			out = append(out, prefix)
		}
	}
	return out
}

// warnOfAllKeys says that * is no prefix that can be recorded.
func (p *process) warnOfAllKeys() {
	if slices.Contains(slices.Concat(p.cfg.Keys, p.cfg.KeysWritable), "*") {
		p.logger.Warn("the journal does not record all keys of --keys *, because a watch needs a prefix: name those prefixes beside it that are to be recorded, as --keys '*,/app/'",
			"recorded", p.recordedPrefixes())
	}
}

// omitPlainSecrets keeps the values of Secrets out of the journal, unless they are encrypted.
func omitPlainSecrets(root string) func(key string, value []byte) bool {
	secrets, encrypted := root+"/secrets/", []byte("k8s:enc:")
	return func(key string, value []byte) bool {
		return strings.HasPrefix(key, secrets) && !bytes.HasPrefix(value, encrypted)
	}
}
