// Package objects has the commands that read objects from a gateway: get and watch.
package objects
