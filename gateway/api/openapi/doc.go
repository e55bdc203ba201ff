// Package openapi makes the OpenAPI documents of resources: in v3 one for each group and version, in v2 one for all, which is
// converted from those of v3.
package openapi
