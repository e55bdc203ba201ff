package journal

import (
	"bytes"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// keyEvents yields the events of one key in their order. It searches the event of each state of the key, and so does not read those of other keys. The
// consumer may use the reader.
func (j *Journal) keyEvents(r *reader, key string, from, through etcdstore.Revision) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		own, err := r.clone()
		if err != nil {
			yield(event{}, err)
			return
		}
		defer own.close()
		it, err := j.reads.NewIter(&pebble.IterOptions{LowerBound: eventKey(r.number, from, 0), UpperBound: eventKey(r.number, through+1, 0)})
		if err != nil {
			yield(event{}, err)
			return
		}
		defer func() { _ = it.Close() }()
		bound := stateKey(r.number, key, through+1)
		for ok := own.states.SeekGE(stateKey(r.number, key, from)); ok && bytes.Compare(own.states.Key(), bound) < 0; ok = own.states.Next() {
			_, revision, err := parseStateKey(own.states.Key())
			e, found := event{}, false
			if err == nil {
				e, found, err = eventOf(it, r.number, key, revision)
			}
			if (err != nil || found) && !yield(e, err) {
				return
			}
		}
		if err := own.states.Error(); err != nil {
			yield(event{}, err)
		}
	}
}

// eventOf searches the event of a key at a revision; false: there is none.
func eventOf(it *pebble.Iterator, number uint32, key string, revision etcdstore.Revision) (event, bool, error) {
	for ok := it.SeekGE(eventKey(number, revision, 0)); ok; ok = it.Next() {
		e, err := parseEvent(it.Key(), it.Value())
		if err != nil || e.revision != revision {
			return event{}, false, err
		}
		if e.key == key {
			return e, true, nil
		}
	}
	return event{}, false, it.Error()
}
