package config

import "github.com/spf13/pflag"

// FlagGroup is the annotation of a flag with the title of its group in --help.
const FlagGroup = "group"

// GroupFlags puts flags into a group of --help.
func GroupFlags(fs *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, FlagGroup, []string{title}); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// ConfigurationGroup is the group of the flags that are no options, such as --config.
const ConfigurationGroup = "Configuration"
