package doctor

import "testing"

func TestUpgradeTo(t *testing.T) {
	for version, want := range map[string]string{
		"3.4.37": "3.5.28", "3.5.27": "3.5.28", "3.5.28": "", "3.6.8": "3.6.9", "3.6.9": "", "3.7.0": "", "3.8.0": "", "4.0.0": "", "3.7.0-rc.1": "", "odd": "",
	} {
		if got := upgradeTo(version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
