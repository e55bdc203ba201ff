package request

import "time"

// RequestTimeout bounds every request that is not a watch.
const RequestTimeout = 60 * time.Second
