package customresource

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"revtail/encoding/jsontext"
)

// definitionScheme has all versions of definitions, and definitionDecoder makes internal ones of them, with defaults.
var (
	definitionScheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		install.Install(scheme)
		return scheme
	}()
	definitionDecoder = serializer.NewCodecFactory(definitionScheme).UniversalDecoder()
)

// decodeDefinition returns a stored definition as one of apiextensions.k8s.io/v1, in which revtail stores them. A kube-apiserver stores v1beta1.
func decodeDefinition(value []byte) ([]byte, error) {
	if string(jsontext.Member(value, "apiVersion")) != `"`+apiextensionsv1beta1.SchemeGroupVersion.String()+`"` {
		return value, nil
	}
	internal, _, err := definitionDecoder.Decode(value, nil, nil)
	if err != nil {
		return nil, err
	}
	definition, err := definitionScheme.UnsafeConvertToVersion(internal, apiextensionsv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	definition.GetObjectKind().SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return json.Marshal(definition)
}
