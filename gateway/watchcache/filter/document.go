package filter

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"revtail/encoding"
)

const (
	// maxLooks is how many members of an object are looked for in its text, and maxDepth how many levels down that is done: each
	// look reads the whole text. Then it is decoded, once for an evaluation.
	maxLooks = 8
	maxDepth = 8
)

// valueOf is what a JSON text stands for.
func valueOf(text []byte) ref.Val { return valueAt(text, 0) }

func valueAt(text []byte, depth int) ref.Val {
	if len(text) > 0 && text[0] == '{' && depth < maxDepth {
		return &object{text: text, depth: depth}
	}
	return decode(text)
}

func decode(text []byte) ref.Val {
	decoded, err := encoding.UnmarshalValue(text)
	if err != nil {
		return types.WrapErr(err)
	}
	return newValue(decoded)
}

// newValue makes a value of what encoding has decoded, with all that is in it: what a loop then asks for is there.
func newValue(decoded any) ref.Val {
	switch v := decoded.(type) {
	case map[string]any:
		return newRecord(v)
	case []any:
		elements := make([]ref.Val, len(v))
		for i, element := range v {
			elements[i] = newValue(element)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	case json.Number: // neither int64 nor float64 hold it
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return types.Uint(n)
		}
		f, _ := strconv.ParseFloat(string(v), 64) // as near as it comes
		return types.Double(f)
	}
	return types.DefaultTypeAdapter.NativeToValue(decoded)
}

// object is a JSON object that is read where it stands: an expression that looks at one field decodes that field. It belongs to
// one evaluation, and reads nothing twice, so that no loop can read much at no cost.
type object struct {
	text  []byte
	depth int
	seen  map[string]ref.Val // members that were looked for; nil: there is none of that name
	all   *record            // nil: nobody has asked for all members
}

// whole is the object with all its members.
func (o *object) whole() *record {
	if o.all == nil {
		decoded, ok := decode(o.text).(*record)
		if !ok {
			decoded = newRecord(nil) // not reached: documents are valid
		}
		o.all = decoded
	}
	return o.all
}

// Find implements traits.Mapper.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, seen := o.seen[string(name)]
	switch {
	case seen:
	case o.all != nil || len(o.seen) == maxLooks:
		return o.whole().Find(key)
	default:
		value = o.look(string(name))
	}
	return value, value != nil
}

// look looks for a member in the text.
func (o *object) look(name string) (value ref.Val) {
	if text := encoding.Member(o.text, name); text != nil {
		value = valueAt(text, o.depth+1)
	}
	if o.seen == nil {
		o.seen = make(map[string]ref.Val)
	}
	o.seen[name] = value
	return value
}

// Get implements traits.Indexer.
func (o *object) Get(key ref.Val) ref.Val { return get(o, key) }

// Contains implements traits.Container.
func (o *object) Contains(key ref.Val) ref.Val { return containsKey(o, key) }

// Iterator implements traits.Iterable.
func (o *object) Iterator() traits.Iterator { return o.whole().Iterator() }

// Size implements traits.Sizer.
func (o *object) Size() ref.Val { return o.whole().Size() }

// Equal implements ref.Val.
func (o *object) Equal(other ref.Val) ref.Val { return o.whole().Equal(other) }

// Type implements ref.Val.
func (o *object) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *object) Value() any { return o.whole().Value() }

// ConvertToNative implements ref.Val.
func (o *object) ConvertToNative(to reflect.Type) (any, error) { return o.whole().ConvertToNative(to) }

// ConvertToType implements ref.Val.
func (o *object) ConvertToType(to ref.Type) ref.Val { return o.whole().ConvertToType(to) }

var _ traits.Mapper = (*object)(nil)
