package serve

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/journal/recorder"
	"revtail/gateway/api/changes"
)

// openJournal makes the store of the gateway: etcd, with the journal of --history-dir for what etcd has compacted, and the decryption of the values
// of both.
func (p *process) openJournal(context.Context) (err error) {
	var store etcdstore.Store = p.etcd.Store
	if p.cfg.HistoryDir != "" {
		p.warnOfAllKeys()
		if err = p.openRecorder(); err != nil {
			return command.UsageError(err)
		}
		store = recorder.NewStore(store, p.recorder)
	}
	p.store = p.encrypted(store)
	if p.recorder != nil {
		p.history = &changes.Source{Store: p.decrypting(recorder.NewRecorded(p.etcd.Store, p.recorder)), Recorder: p.recorder}
	}
	return nil
}

// chooseRecorded finds what is to be recorded.
func (p *process) chooseRecorded() (err error) {
	if p.cfg.HistoryDir != "" {
		p.recorded, p.unrecorded, err = recordedKeys(p.cfg)
	}
	return err
}

// openRecorder opens the journal, unless it is to be copied from another gateway.
func (p *process) openRecorder() (err error) {
	c := recorder.Config{
		Store: p.etcd.Store, Prefixes: p.recorded, Except: p.unrecorded, Omit: omitPlainSecrets(p.cfg.EtcdPrefix),
		Bounds: journal.Bounds{Age: p.cfg.HistoryRetention, Size: int64(p.cfg.HistoryMaxSize)}, Logger: p.logger,
	}
	if p.cfg.HistoryFrom != "" {
		exists, failed := journal.Exists(p.cfg.HistoryDir)
		if failed != nil {
			return fmt.Errorf("--history-dir: %w", failed)
		}
		if !exists {
			p.recorder = recorder.New(nil, c)
			return nil
		}
		p.logger.Info("--history-from has no effect, because --history-dir has a journal already", "directory", p.cfg.HistoryDir)
	}
	if p.journal, err = journal.Open(p.cfg.HistoryDir, p.logger); err == nil {
		p.recorder = recorder.New(p.journal, c)
	}
	return err
}

// record writes the journal until ctx ends, after it was copied if it is to be.
func (p *process) record(ctx context.Context) (err error) {
	if p.journal == nil {
		from := historyCopy{p.cfg, p.logger}
		if from.run(ctx) != nil {
			return nil //nolint:nilerr // the process ends
		}
		if p.journal, err = journal.Open(p.cfg.HistoryDir, p.logger); err != nil {
			p.logger.Error("the copy of the journal cannot be opened: this gateway goes on without a journal until its next start", "error", err)
			return nil // clients are served
		}
		p.recorder.Open(p.journal)
	}
	return p.recorder.Run(ctx)
}

func (p *process) closeJournal() error {
	if p.journal == nil {
		return nil
	}
	return p.journal.Close()
}

// warnOfAllKeys says that * is no prefix that can be recorded.
func (p *process) warnOfAllKeys() {
	if slices.Contains(slices.Concat(p.cfg.Keys, p.cfg.KeysWritable), "*") {
		p.logger.Warn("the journal does not record all keys of --keys *, because a watch needs a prefix: name those prefixes beside it that are to be recorded, as --keys '*,/app/'",
			"recorded", p.recorded)
	}
}

// omitPlainSecrets keeps the values of Secrets out of the journal, unless they are encrypted.
func omitPlainSecrets(root string) func(key string, value []byte) bool {
	secrets, encrypted := root+"/secrets/", []byte("k8s:enc:")
	return func(key string, value []byte) bool {
		return strings.HasPrefix(key, secrets) && !bytes.HasPrefix(value, encrypted)
	}
}
