package customresource

import (
	"fmt"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/gateway/api/webhook"
	"revtail/gateway/resource"
)

const (
	// maxObjects and maxBytes bound what one call of a webhook converts; a single object may be larger.
	maxObjects = 500
	maxBytes   = 2 << 20
	// maxAnswer bounds the answer to one call, in bytes.
	maxAnswer = 32 << 20
	// slowCall is the time of a failed call after which its objects are not tried one by one, and maxFailures the number of these that fail one after
	// the other: the webhook fails, and not the object.
	slowCall    = 2 * time.Second
	maxFailures = 20
)

// converters makes the converters of kube-apiserver, which share their connections.
var converters = sync.OnceValues(func() (*conversion.CRConverterFactory, error) {
	return conversion.NewCRConverterFactory(webhook.NoServices{}, webhook.Clients("revtail-conversion", maxAnswer))
})

// converter converts objects by the webhook of a definition.
type converter struct {
	schemas map[string]*schema // of all versions, by apiVersion
	webhook runtime.ObjectConvertor
}

// hasWebhook reports whether a webhook converts the objects of a definition.
func (d *Definition) hasWebhook() bool {
	c := d.V1.Spec.Conversion
	return c != nil && c.Strategy == apiextensionsv1.WebhookConverter && c.Webhook != nil && c.Webhook.ClientConfig != nil
}

// convertByWebhook makes a webhook convert the objects of a definition, whose resources are those of all its versions.
func (d *Definition) convertByWebhook(all []*resource.Resource) error {
	c := &converter{schemas: map[string]*schema{}, webhook: d.newWebhook()}
	storage := runtimeschema.GroupVersion{Group: d.V1.Spec.Group, Version: d.storageVersion()}
	for _, res := range all {
		s, ok := res.Schema.(*schema)
		if !ok {
			return fmt.Errorf("version %s has no schema", res.Version) // not reached
		}
		c.schemas[res.APIVersion()] = s
	}
	for _, res := range all {
		res.Defaults, res.Store = nil, nil
		res.Conversion = &versionConversion{converter: c, version: runtimeschema.GroupVersion{Group: res.Group, Version: res.Version}, storage: storage, kind: res.Kind}
		res.Versions, res.Convert = all, c.convert
	}
	return nil
}

// newWebhook returns the converter of kube-apiserver. Without a usable webhook each conversion fails.
func (d *Definition) newWebhook() runtime.ObjectConvertor {
	if service := d.V1.Spec.Conversion.Webhook.ClientConfig.Service; service != nil {
		return unusableWebhook{err: webhook.ServiceError(service.Name, service.Namespace)}
	}
	factory, err := converters()
	if err == nil {
		var unsafe runtime.ObjectConvertor
		if _, unsafe, err = factory.NewConverter(d.V1); err == nil {
			return unsafe
		}
	}
	return unusableWebhook{err: err}
}

type unusableWebhook struct {
	runtime.ObjectConvertor // nil: only ConvertToVersion is called
	err                     error
}

func (u unusableWebhook) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return nil, fmt.Errorf("conversion webhook for %v failed: %w", in.GetObjectKind().GroupVersionKind(), u.err)
}

// convert is resource.Resource.Convert.
func (c *converter) convert(object map[string]any, to runtimeschema.GroupVersion) (map[string]any, error) {
	out, err := c.webhook.ConvertToVersion(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}, to)
	if err != nil {
		return nil, &resource.ConversionError{Err: err}
	}
	converted, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, &resource.ConversionError{Err: fmt.Errorf("the conversion returned a %T", out)} // not reached
	}
	return converted.Object, nil
}

// versionConversion is the conversion of the objects of one version.
type versionConversion struct {
	*converter
	version, storage runtimeschema.GroupVersion
	kind             string
}

var _ resource.Conversion = (*versionConversion)(nil)

// ToStored implements resource.Conversion.
func (c *versionConversion) ToStored(object map[string]any) (map[string]any, error) {
	if c.version == c.storage {
		return object, nil
	}
	stored, err := c.convert(object, c.storage)
	if err == nil {
		c.schemas[c.storage.String()].prune(stored)
	}
	return stored, err
}

// FromStored implements resource.Conversion: an object has the fields and the defaults of the version in which it is stored, and then those
// that the webhook makes of it, less the fields that the version lacks.
func (c *versionConversion) FromStored(values [][]byte) ([][]byte, []error) {
	out, errs := slices.Clone(values), make([]error, len(values))
	var batch conversionBatch
	for i, value := range values {
		object, foreign := c.complete(value)
		switch {
		case object == nil: // as it is
		case !foreign:
			out[i], errs[i] = encoding.Marshal(object)
		default:
			if batch.isFull(len(value)) {
				c.convertBatch(&batch, out, errs)
			}
			batch.add(i, object, len(value))
		}
	}
	c.convertBatch(&batch, out, errs)
	return out, errs
}

// complete decodes a stored object and sets its defaults. Nil: it stays as it is, because it has none, or cannot be decoded. foreign: it is
// stored in another version.
func (c *versionConversion) complete(value []byte) (object map[string]any, foreign bool) {
	of := jsontext.Member(value, "apiVersion")
	own := string(of) == `"`+c.version.String()+`"`
	if own && !hasDefaults(c.schemas[c.version.String()].structural) {
		return nil, false
	}
	object, err := jsontext.Unmarshal(value)
	if err != nil {
		return nil, false // encoding.Normalize returns the error
	}
	plainNumbers(object)
	apiVersion, _ := object["apiVersion"].(string)
	if s := c.schemas[apiVersion]; s != nil {
		if !own {
			s.prune(object)
		}
		s.setDefaults(object)
	}
	return object, !own
}

// conversionBatch are the objects of one call.
type conversionBatch struct {
	at      []int // in the values of FromStored
	objects []unstructured.Unstructured
	bytes   int
}

func (b *conversionBatch) isFull(next int) bool {
	return len(b.objects) == maxObjects || len(b.objects) > 0 && b.bytes+next > maxBytes
}

func (b *conversionBatch) add(at int, object map[string]any, size int) {
	b.at, b.objects, b.bytes = append(b.at, at), append(b.objects, unstructured.Unstructured{Object: object}), b.bytes+size
}

// convertBatch converts a batch by one call, and empties it. If that fails, it converts each object by itself, so that one that cannot be
// converted hides no others.
func (c *versionConversion) convertBatch(b *conversionBatch, out [][]byte, errs []error) {
	began := time.Now()
	converted, err := c.convertAll(b.objects)
	one := len(b.objects) > 1 && time.Since(began) < slowCall
	failures := 0
	for i, at := range b.at {
		switch {
		case err == nil:
			out[at], errs[at] = c.finish(converted[i].Object)
		case !one || failures == maxFailures:
			errs[at] = &resource.ConversionError{Err: err}
		default:
			object, failed := c.convert(b.objects[i].Object, c.version)
			if failed != nil {
				failures++
				errs[at] = failed
				continue
			}
			failures = 0
			out[at], errs[at] = c.finish(object)
		}
	}
	*b = conversionBatch{}
}

// finish removes what the version lacks, and encodes the object.
func (c *versionConversion) finish(object map[string]any) ([]byte, error) {
	c.schemas[c.version.String()].prune(object)
	return encoding.Marshal(object)
}

// convertAll converts objects by one call. The kind of the list is that of the objects, because errors name it.
func (c *versionConversion) convertAll(objects []unstructured.Unstructured) ([]unstructured.Unstructured, error) {
	switch len(objects) {
	case 0:
		return nil, nil
	case 1:
		out, err := c.webhook.ConvertToVersion(&objects[0], c.version)
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*out.(*unstructured.Unstructured)}, nil
	}
	list := &unstructured.UnstructuredList{Items: objects, Object: map[string]any{"apiVersion": objects[0].GetAPIVersion(), "kind": c.kind}}
	out, err := c.webhook.ConvertToVersion(list, c.version)
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.UnstructuredList).Items, nil
}
