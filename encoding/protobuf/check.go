package protobuf

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"revtail/encoding/codec"
)

const (
	// maxMemory bounds the bytes of the structs, list elements and map entries of one object, because two bytes of a body can become
	// a struct of 1 KiB. The largest CustomResourceDefinitions in common use need 2 MiB.
	maxMemory = 16 << 20
	// entryMemory is the overhead of a map entry, packedMemory the size of a number that is one byte in a body.
	entryMemory, packedMemory = 48, 8
)

// check checks a message of a Go type before it is decoded: syntax, UTF-8, memory, and depth, because some types are recursive.
func check(t reflect.Type, data []byte) error {
	c := checker{left: maxMemory}
	return c.message(t, data)
}

type checker struct {
	left  int // bytes of memory
	depth int // of the current message
}

func (c *checker) spend(size int) error {
	if c.left -= size; c.left < 0 {
		return &codec.LimitError{What: "bytes when decoded", Limit: maxMemory}
	}
	return nil
}

func (c *checker) message(t reflect.Type, data []byte) error {
	if c.depth++; c.depth > codec.MaxDepth {
		return &codec.LimitError{What: "levels of nesting", Limit: codec.MaxDepth}
	}
	defer func() { c.depth-- }()
	fields := fieldsOf(t)
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return syntaxError(protowire.ParseError(n))
		}
		data = data[n:]
		n = protowire.ConsumeFieldValue(number, wire, data)
		if n < 0 {
			return syntaxError(protowire.ParseError(n))
		}
		value := data[:n]
		data = data[n:]
		field, ok := fields[number]
		if !ok {
			continue
		}
		err := c.spend(int(field.Size()))
		if err == nil && wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
			err = c.value(field, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value checks one value of a field; of a list or a map, one element or entry.
func (c *checker) value(t reflect.Type, data []byte) error {
	switch {
	case isMessage(t):
		return c.message(t, data)
	case t.Kind() == reflect.Map:
		if err := c.spend(entryMemory); err != nil {
			return err
		}
		return c.message(t, data)
	case t.Kind() == reflect.String:
		if !utf8.Valid(data) {
			return codec.ErrNotUTF8
		}
	case t.Kind() != reflect.Slice: // packed numbers
		return c.spend(packedMemory * len(data))
	}
	return nil
}

// fields maps the numbers of the fields of a message to their types. A list, except bytes, has the type of its elements.
type fields map[protowire.Number]reflect.Type

// known caches fields by the reflect.Type of their message. The number of types bounds it.
var known sync.Map

func fieldsOf(t reflect.Type) fields {
	if found, ok := known.Load(t); ok {
		return found.(fields)
	}
	found := make(fields)
	switch t.Kind() {
	case reflect.Map: // an entry is a message of two fields
		found[1], found[2] = t.Key(), elementType(t.Elem())
	case reflect.Slice: // a list with a name of its own is a message of one field
		found[1] = elementType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			tag := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
			if number, err := strconv.Atoi(tag[min(1, len(tag)-1)]); err == nil { // "bytes,8,opt,name=labels"
				found[protowire.Number(number)] = elementType(t.Field(i).Type)
			}
		}
	}
	known.Store(t, found)
	return found
}

// one is the type of one value of a field.
func elementType(t reflect.Type) reflect.Type {
	switch {
	case t.Kind() == reflect.Pointer:
		return elementType(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !isMessage(t):
		return elementType(t.Elem())
	}
	return t
}

func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[message]())
}
