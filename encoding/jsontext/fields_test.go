package jsontext

import "testing"

func TestHasFields(t *testing.T) {
	fields := append(Fields("a", "b"), Field{Name: "c", Fields: Fields("d")})
	for doc, want := range map[string]bool{
		`{"a":0,"b":false,"c":{"d":{}}}`:                    true,
		`{"x":null,"c":{"y":"","d":"z"},"b":[],"a":"null"}`: true,
		`{"a":1,"b":1,"c":{"\u0064":1}}`:                    true,
		`{"a":1,"b":1,"c":{}}`:                              false,
		`{"a":1,"b":1,"c":"d"}`:                             false,
		`{"a":1,"b":1,"d":1}`:                               false,
		`{"a":1,"b":null,"c":{"d":1}}`:                      false,
		`{"a":1,"b":"","c":{"d":1}}`:                        false,
		`{"a":1,"a":1,"c":{"d":1}}`:                         false, // as many members as fields
		`{"a":1,"b":1,"c":{"d":1},"c":{}}`:                  false,
		`{"a":1,"b":1,"c":{"d":1,"\u0064":null}}`:           false,
		`{"a":1,"b":1,"c":{"d":1}} `:                        false, // not compact
		`{"a": 1,"b":1,"c":{"d":1}}`:                        false,
		`{"a":1,"b":1,"c":{"d":1}}{}`:                       false,
		`{"a":1,"b":1,"c":{"d":1}`:                          false,
		`[]`:                                                false,
		``:                                                  false,
	} {
		if got := HasFields([]byte(doc), fields); got != want {
			t.Errorf("%s: %t, want %t", doc, got, want)
		}
	}
}
