package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// CheckSelectors refuses values of --selector and --field-selector that no gateway can read.
func CheckSelectors(labelSelector, fieldSelector string) error {
	if _, err := labels.Parse(labelSelector); err != nil {
		return fmt.Errorf("--selector %q: %w: want labels, as app=web,tier!=back", labelSelector, err)
	}
	if _, err := fields.ParseSelector(fieldSelector); err != nil {
		return fmt.Errorf("--field-selector %q: want fields with their values, as metadata.name=web,status.phase!=Failed", fieldSelector)
	}
	return nil
}
