package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// keepList reads the list, checks that it has each object once, and stores it in a file.
func (s *stage) keepList(ctx context.Context, e endpoint, revisions []int64) (string, error) {
	c, err := dial(ctx, e)
	if err != nil {
		return "", err
	}
	defer c.close()
	a, err := c.send("GET", configMapsURL, nil)
	if err != nil {
		return "", err
	}
	if err := checkList(a.body, revisions); err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, "list.json")
	return file, os.WriteFile(file, a.body, 0o600)
}

// metadata is what a check needs of a list and of its objects.
type metadata struct {
	Name            string `json:"name"`
	ResourceVersion int64  `json:"resourceVersion,string"`
}

// checkList checks a list in JSON.
func checkList(body []byte, revisions []int64) error {
	var list struct {
		Metadata metadata
		Items    []struct{ Metadata metadata }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	items := make([]metadata, len(list.Items))
	for i, item := range list.Items {
		items[i] = item.Metadata
	}
	return checkItems(list.Metadata, items, revisions)
}

// checkTable checks a list as a Table.
func checkTable(body []byte, revisions []int64) error {
	var table struct {
		Metadata metadata
		Rows     []struct{ Object struct{ Metadata metadata } }
	}
	if err := json.Unmarshal(body, &table); err != nil {
		return fmt.Errorf("the table: %w", err)
	}
	items := make([]metadata, len(table.Rows))
	for i, row := range table.Rows {
		items[i] = row.Object.Metadata
	}
	return checkItems(table.Metadata, items, revisions)
}

// checkMessage checks a list in protobuf.
func checkMessage(body []byte, revisions []int64) error {
	var message runtime.Unknown
	rest, ok := bytes.CutPrefix(body, messagePrefix)
	if !ok {
		return fmt.Errorf("the list is no message: %.40q", body)
	}
	var list v1.ConfigMapList
	err := message.Unmarshal(rest)
	if err == nil {
		err = list.Unmarshal(message.Raw)
	}
	if err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	version := func(of string) int64 {
		v, _ := strconv.ParseInt(of, 10, 64) // zero is no revision
		return v
	}
	items := make([]metadata, len(list.Items))
	for i := range list.Items {
		items[i] = metadata{list.Items[i].Name, version(list.Items[i].ResourceVersion)}
	}
	return checkItems(metadata{ResourceVersion: version(list.ResourceVersion)}, items, revisions)
}

// checkItems checks that a list has the objects of these revisions, each once, and a revision not older than the newest.
func checkItems(list metadata, items []metadata, revisions []int64) error {
	var got sequence
	names := map[string]bool{}
	for _, item := range items {
		got.addAnywhere(item.ResourceVersion)
		names[item.Name] = true
	}
	if err := got.checkState(sequenceOf(revisions)); err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	if len(names) != len(revisions) || list.ResourceVersion < slices.Max(revisions) {
		return fmt.Errorf("the list: %d names of %d objects at revision %d, the newest is of %d",
			len(names), len(revisions), list.ResourceVersion, slices.Max(revisions))
	}
	return nil
}
