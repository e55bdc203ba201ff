package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// validateRecorded refuses names of resources that cannot be read, and keys that are no keys or those of resources.
func (c Config) validateRecorded() error {
	var errs []error
	for _, name := range c.HistoryResources {
		plural, group, hasGroup := strings.Cut(strings.TrimPrefix(name, "-"), ".")
		switch {
		case name == "" && len(c.HistoryResources) == 1:
		case name == "-*.*":
			errs = append(errs, errors.New("--history-resources \"-*.*\" excludes all resources: write --history-resources \"\" to record none"))
		case name == "", strings.HasPrefix(plural, "-"), plural == "*" && !hasGroup, plural == "", name != strings.ToLower(name), plural != "*" && hasGroup && group == "",
			strings.ContainsAny(name, "/ "), strings.Contains(group, "*") && name != "*.*":
			errs = append(errs, fmt.Errorf("--history-resources %q: want plurals with their groups, comma separated, as configmaps,deployments.apps; *.apps for a group, *. for the core group, *.* for all; -events for all others", name))
		}
	}
	for _, name := range c.HistoryKeys {
		key := strings.TrimPrefix(name, "-")
		switch {
		case name == "" && len(c.HistoryKeys) == 1:
		case key == "" || key == "*":
			errs = append(errs, fmt.Errorf("--history-keys %q: want keys, or prefixes that end with /, as /app/, or -/app/cache/ for all others; there is no journal of every key", name))
		case strings.HasPrefix(key, c.EtcdPrefix+"/"), key != name && strings.HasPrefix(c.EtcdPrefix+"/", key):
			errs = append(errs, fmt.Errorf("--history-keys %s: the keys below %s are those of resources: choose them with --history-resources", name, c.EtcdPrefix))
		}
	}
	return errors.Join(append(errs, c.validateRange())...)
}

// validateRange refuses to choose resources whose keys are recorded anyway.
func (c Config) validateRange() error {
	if c.HistoryDir == "" || c.RecordsAllResources() {
		return nil
	}
	var errs []error
	keys, _ := c.RecordedKeys()
	for _, key := range keys {
		if strings.HasPrefix(c.EtcdPrefix+"/", key) {
			errs = append(errs, fmt.Errorf("--history-resources has no effect, because the keys %s are recorded, which are also those of all resources: name other keys with --history-keys, or none with --history-keys \"\"", key))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateHistoryFrom() error {
	if c.HistoryFrom == "" {
		return nil
	}
	u, err := url.Parse(c.HistoryFrom)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", u.User != nil, strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "":
		return errors.New("--history-from: want the http:// or https:// URL of a gateway without a user, a path and a query, as https://revtail-0.example.com:8443")
	case (c.HistoryFromCertFile == "") != (c.HistoryFromKeyFile == ""):
		return errors.New("--history-from-cert-file and --history-from-key-file go together: give both or none")
	case u.Scheme == "http" && c.HistoryFromCAFile+c.HistoryFromCertFile != "":
		return errors.New("--history-from is not TLS: write https://, or remove --history-from-ca-file, --history-from-cert-file and --history-from-key-file")
	case u.Scheme == "http" && c.HistoryFromTokenFile != "" && !Loopback(u.Hostname()):
		return errors.New("--history-from: want https:// with --history-from-token-file: others could read the token")
	}
	return nil
}
