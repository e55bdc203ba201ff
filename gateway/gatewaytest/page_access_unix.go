//go:build unix

package gatewaytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Resize sets the size of the window, in CSS pixels: half the size is a zoom of 200 %.
func (p *Page) Resize(tb testing.TB, width, height int) {
	tb.Helper()
	p.call(tb, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// ReduceMotion sets whether the user prefers less motion, beside the colour scheme.
func (p *Page) ReduceMotion(tb testing.TB, scheme string) {
	tb.Helper()
	p.call(tb, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// axValue is a value of the accessibility tree of the DevTools protocol.
type axValue struct {
	Value any `json:"value"`
}

func (v axValue) String() string {
	if v.Value == nil {
		return ""
	}
	return fmt.Sprint(v.Value)
}

// Nameless returns the elements that take the focus, or are an image, a dialog or a landmark of a kind that can be repeated, and for which
// assistive technology gets no name or no role. The browser computes both.
func (p *Page) Nameless(tb testing.TB) (faults []string) {
	tb.Helper()
	var tree struct {
		Nodes []struct {
			Ignored          bool    `json:"ignored"`
			Role             axValue `json:"role"`
			Name             axValue `json:"name"`
			BackendDOMNodeID int     `json:"backendDOMNodeId"`
			Properties       []struct {
				Name  string  `json:"name"`
				Value axValue `json:"value"`
			} `json:"properties"`
		} `json:"nodes"`
	}
	p.call(tb, "Accessibility.getFullAXTree", nil, &tree)
	for _, node := range tree.Nodes {
		needs := strings.Contains(" dialog img image complementary navigation region grid tree listbox tablist tabpanel ", " "+node.Role.String()+" ")
		for _, property := range node.Properties {
			needs = needs || property.Name == "focusable" && property.Value.Value == true
		}
		if node.Ignored || !needs || node.Role.String() == "RootWebArea" {
			continue
		}
		if name := strings.TrimSpace(node.Name.String()); name == "" || node.Role.String() == "generic" || node.Role.String() == "none" {
			var found struct {
				Node struct {
					LocalName  string   `json:"localName"`
					Attributes []string `json:"attributes"`
				} `json:"node"`
			}
			p.call(tb, "DOM.describeNode", map[string]any{"backendNodeId": node.BackendDOMNodeID}, &found)
			where, _ := json.Marshal(found.Node.Attributes)
			faults = append(faults, fmt.Sprintf("names: %s %s: role %q, name %q", found.Node.LocalName, where, node.Role, name))
		}
	}
	return faults
}
