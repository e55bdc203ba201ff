// Package schema makes the OpenAPI schemas of resources: those of built-in kinds from their Go types, those of custom resources from
// their definitions. Each schema has the extensions for the merging of lists and maps.
package schema
