package conversion

import "time"

// SetPatience changes how long watches wait for a webhook that fails.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }
