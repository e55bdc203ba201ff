package table

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// mountColumns are the columns of every mount. There is no age, because etcd does not store when a key was created.
var mountColumns = Columns{
	nameColumn,
	stringColumn("Value", "The value of the key, on one line and cut short.", func(o jsonValue) string {
		if why := o.at("undecodable"); why.exists() {
			return "<undecodable>"
		}
		text, _ := textCell(o.at("value")).(string)
		return shortened(text)
	}),
	stringColumn("Key", "The key in etcd; one that is not UTF-8 in base64.", func(o jsonValue) string {
		annotations := o.at("metadata", "annotations")
		return cmp.Or(annotations.at("revtail/key").text(), annotations.at("revtail/key64").text())
	}),
	wide(stringColumn("Revision", "The revision of etcd in which the key was written last.", func(o jsonValue) string {
		return o.at("metadata", "resourceVersion").text()
	})),
}

// shortened cuts a text to the size of a cell.
func shortened(text string) string {
	const most = 60
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%s…", string(runes[:most-1]))
	}
	return text
}
