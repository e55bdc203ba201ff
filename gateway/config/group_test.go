package config

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestGroups checks that each option has a group, and its flag too.
func TestGroups(t *testing.T) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	for _, group := range groups {
		if len(optionsOf(group)) == 0 {
			t.Errorf("the group %q has no options", group)
		}
	}
	want := map[string]string{fileFlag: ConfigurationGroup}
	for _, o := range new(Config).options() {
		want[o.name] = o.group
		if !slices.Contains(groups, o.group) {
			t.Errorf("--%s has the group %q: want one of %q", o.name, o.group, groups)
		}
	}
	fs.VisitAll(func(flag *pflag.Flag) {
		if got := flag.Annotations[FlagGroup]; !slices.Equal(got, []string{want[flag.Name]}) {
			t.Errorf("--%s is in the groups %q, want %q", flag.Name, got, want[flag.Name])
		}
	})
}
