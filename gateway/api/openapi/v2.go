package openapi

import (
	"encoding/json"
	"fmt"
	"sync"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// v2 is the OpenAPI v2 document of all resources in two encodings, for clients without v3, such as kubectl before 1.27.
type v2 struct {
	JSON, Protobuf func() response.Document
}

// ProtobufV2 is the media type of the protobuf encoding. Old clients write it with an "@", which is invalid in a media type.
const ProtobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

func newV2(groups []*resource.Group, version string) v2 {
	return v2{
		JSON: sync.OnceValue(func() response.Document { return response.NewDocument(response.JSON, swaggerOf(groups, version)) }),
		Protobuf: sync.OnceValue(func() response.Document {
			return response.DocumentOf(ProtobufV2, inProtobufV2(swaggerOf(groups, version)))
		}),
	}
}

// inProtobufV2 encodes a document in protobuf. The libraries convert only its JSON.
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
	if err != nil { // schemaV2 leaves only what OpenAPI v2 has
		panic(fmt.Sprintf("openapi: the OpenAPI v2 document cannot be rendered: %v", err))
	}
	return out
}
