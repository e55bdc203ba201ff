package gateway

import (
	"encoding/json"
	"fmt"
	"sync"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/resource"
)

// openAPIV2 is the OpenAPI v2 description of all resources, for clients that do not know v3, such as kubectl before 1.27: one
// document in two forms, each made when it is first asked for, and gone with the resources that it describes.
type openAPIV2 struct {
	json, protobuf func() representation
}

// protobufV2Type is the media type of the protobuf form. Clients may ask for it by an older name, with an "@" where no media
// type may have one.
const protobufV2Type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

func newOpenAPIV2(groups []*resource.Group) openAPIV2 {
	return openAPIV2{
		json:     sync.OnceValue(func() representation { return represent(jsonType, swaggerOf(groups)) }),
		protobuf: sync.OnceValue(func() representation { return newRepresentation(protobufV2Type, inProtobufV2(swaggerOf(groups))) }),
	}
}

// inProtobufV2 is a document in the protobuf form, to which there is no other way than through its JSON.
func inProtobufV2(swagger *spec.Swagger) []byte {
	text, err := json.Marshal(swagger)
	var document *openapiv2.Document
	if err == nil {
		document, err = openapiv2.ParseDocument(text)
	}
	var out []byte
	if err == nil {
		out, err = proto.MarshalOptions{Deterministic: true}.Marshal(document)
	}
	if err != nil { // schemaV2 leaves nothing in that OpenAPI v2 does not know
		panic(fmt.Sprintf("gateway: the OpenAPI v2 document cannot be rendered: %v", err))
	}
	return out
}
