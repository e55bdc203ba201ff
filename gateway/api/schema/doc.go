// Package schema makes the OpenAPI schemas of resources. Those of built-in kinds are read from their Go types, those of custom
// resources from their definitions, and each says how lists and maps are merged.
package schema
