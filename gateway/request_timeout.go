package gateway

import "time"

// requestTimeout bounds every request that is not a watch.
const requestTimeout = 60 * time.Second
