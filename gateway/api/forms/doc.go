// Package forms keeps objects as clients have asked for them in other forms than the JSON of the cache, such as protobuf or the row of a
// Table, so that lists and initial events for many clients make each form once.
package forms
