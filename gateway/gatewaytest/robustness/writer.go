package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// writer changes objects at a rate, and records the responses.
type writer struct {
	run     *Run
	name    string
	gateway int
	count   int
	known   map[string]int64 // the revision of each object that it has created, as far as it knows
	random  *rand.Rand
}

// namespaces are the namespaces of the objects.
var namespaces = []string{"a", "b", "c"}

const objectsEach = 12

// leased begins the names of the objects that a lease deletes.
const leased = "leased"

// write runs one kind of writer until ctx ends: one write every pace.
func (w *writer) write(ctx context.Context, pace time.Duration, one func(context.Context)) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			one(ctx)
		}
	}
}

// unique returns a value that no other write has.
func (w *writer) unique() string {
	w.count++
	return fmt.Sprintf("%s-%d", w.name, w.count)
}

func manifest(namespace, name, color, value string, revision int64) string {
	metadata := map[string]any{"namespace": namespace, "name": name, "labels": map[string]string{"color": color}}
	if revision > 0 {
		metadata["resourceVersion"] = fmt.Sprint(revision)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]string{"value": value, "pad": strings.Repeat("x", 200)},
	})
	if err != nil {
		panic(err) // strings and maps of them can always be marshalled
	}
	return string(text)
}

func (w *writer) color() string { return []string{"red", "blue"}[w.random.IntN(2)] }

// churn creates, replaces, patches and deletes objects of its own.
func (w *writer) churn(ctx context.Context) {
	namespace, name := namespaces[w.random.IntN(len(namespaces))], fmt.Sprintf("%s-%d", w.name, w.random.IntN(objectsEach))
	at := namespace + "/" + name
	path := "/api/v1/namespaces/" + namespace + "/configmaps"
	record := &Write{Writer: w.name, Keys: []string{prefix + at}}
	revision, exists := w.known[at]
	switch action := w.random.IntN(8); {
	case !exists:
		record.Verb, record.Value = http.MethodPost, w.unique()
		w.send(ctx, record, path, manifest(namespace, name, w.color(), record.Value, 0))
	case action == 0:
		record.Verb, record.Replaces = http.MethodDelete, revision
		w.send(ctx, record, path+"/"+name, fmt.Sprintf(`{"preconditions":{"resourceVersion":"%d"}}`, revision))
	case action < 4:
		record.Verb, record.Value = http.MethodPatch, w.unique()
		w.send(ctx, record, path+"/"+name, fmt.Sprintf(`{"metadata":{"labels":{"color":%q}},"data":{"value":%q}}`, w.color(), record.Value))
	default:
		record.Verb, record.Value, record.Replaces = http.MethodPut, w.unique(), revision
		w.send(ctx, record, path+"/"+name, manifest(namespace, name, w.color(), record.Value, revision))
	}
	switch {
	case record.Outcome == Acknowledged && record.Verb == http.MethodDelete:
		delete(w.known, at)
	case record.Outcome == Acknowledged:
		w.known[at] = record.Revision
	default:
		w.look(ctx, at)
	}
}

// look reads the current state of an object.
func (w *writer) look(ctx context.Context, at string) {
	namespace, name, _ := strings.Cut(at, "/")
	l, err := w.run.list(ctx, w.gateway, Consistent, Scope{Namespace: namespace, Name: name}, 0)
	if err != nil {
		w.gateway = (w.gateway + 1) % len(w.run.gateways)
		return
	}
	delete(w.known, at)
	for _, o := range l.Items {
		w.known[at] = o.Revision
	}
	l.Reader = w.name
	w.run.history().addList(l)
}

// contend replaces the same few objects as the other writers of its kind, each at its last known revision.
func (w *writer) contend(ctx context.Context) {
	name := fmt.Sprintf("contended-%d", w.random.IntN(4))
	record := &Write{Writer: w.name, Verb: http.MethodPut, Keys: []string{prefix + "b/" + name}, Value: w.unique()}
	if revision, ok := w.known["b/"+name]; ok {
		record.Replaces = revision
		w.send(ctx, record, "/api/v1/namespaces/b/configmaps/"+name, manifest("b", name, w.color(), record.Value, revision))
	} else {
		record.Verb = http.MethodPost
		w.send(ctx, record, "/api/v1/namespaces/b/configmaps", manifest("b", name, w.color(), record.Value, 0))
	}
	if record.Outcome == Acknowledged {
		w.known["b/"+name] = record.Revision
	} else {
		w.look(ctx, "b/"+name)
	}
}

// send makes a write and records its outcome.
func (w *writer) send(ctx context.Context, record *Write, path, body string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout) // because a cancelled write has no known outcome
	defer cancel()
	record.Sent = time.Now()
	req, err := http.NewRequestWithContext(ctx, record.Verb, w.run.gateways[w.gateway].URL+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the URL is constant
	}
	req.Header.Set("Content-Type", "application/json")
	if record.Verb == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := w.run.client.Do(req)
	record.Answered = time.Now()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		record.Outcome, record.Reason = RefusedWrite, err.Error() // it was not sent
	case err != nil:
		record.Outcome, record.Reason = UnknownResult, err.Error()
	default:
		record.judge(resp)
		_ = resp.Body.Close()
	}
	if err != nil {
		w.gateway = (w.gateway + 1) % len(w.run.gateways)
	}
	w.run.history().addWrite(record)
}

// judge returns the outcome of a write from its response.
func (r *Write) judge(resp *http.Response) {
	r.Code = resp.StatusCode
	text, err := io.ReadAll(resp.Body)
	var answer struct {
		Reason   string `json:"reason"`
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(text, &answer) != nil {
		r.Outcome = UnknownResult
		return
	}
	r.Reason = answer.Reason
	switch {
	case r.Code < 300:
		r.Outcome = Acknowledged
		r.Revision, _ = strconv.ParseInt(answer.Metadata.ResourceVersion, 10, 64)
	case slices.Contains([]int{http.StatusConflict, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable}, r.Code):
		r.Outcome = RefusedWrite
	default:
		r.Outcome = UnknownResult
	}
}

// transact changes several keys in one revision, as another program on the same etcd does: it writes them, and later deletes them all at
// once or lets their lease expire.
func (w *writer) transact(ctx context.Context) {
	etcd := w.run.etcd
	var lease int64
	switch w.count % 4 {
	case 3:
		record := &Write{Writer: w.name, Verb: "delete-range", Keys: []string{prefix + "c/foreign-"}, Sent: time.Now()}
		revision, err := etcd.deleteAll(ctx, prefix+"c/foreign-")
		w.note(record, revision, err)
		w.count++
		return
	case 2:
		lease, _ = etcd.grant(ctx, 2*time.Second) // without a lease the keys stay
	}
	values, record := make(map[string]string), &Write{Writer: w.name, Verb: "transaction", Value: w.unique(), Sent: time.Now()}
	group := []string{"foreign", leased}[min(1, int(min(1, lease)))]
	for i := range 5 {
		namespace, name := namespaces[min(i, 2)], fmt.Sprintf("%s-%d", group, i)
		key := prefix + namespace + "/" + name
		values[key] = manifest(namespace, name, w.color(), record.Value, 0)
		record.Keys = append(record.Keys, key)
	}
	revision, err := etcd.put(ctx, lease, values)
	w.note(record, revision, err)
}

// note records a write that was made directly.
func (w *writer) note(record *Write, revision int64, err error) {
	record.Answered, record.Revision, record.Outcome = time.Now(), revision, Acknowledged
	if err != nil {
		record.Outcome, record.Reason = UnknownResult, err.Error()
	}
	w.run.history().addWrite(record)
}
