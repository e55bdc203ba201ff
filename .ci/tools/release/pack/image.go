package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type imageOptions struct {
	dockerfile, tag string
	labels          []string
	when            time.Time
	contexts        []string // PLATFORM=FOLDER
}

// writeImage writes the image as an OCI archive with an index of all platforms. For `docker load` the archive also has a manifest of the
// image for the platform of this machine, which engines without the containerd store read.
func writeImage(o imageOptions, out string) error {
	r, err := readDockerfile(o.dockerfile)
	if err != nil {
		return err
	}
	for _, label := range o.labels {
		key, value, _ := strings.Cut(label, "=")
		r.config.Labels[key] = value
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var own v1.Image
	for _, context := range o.contexts {
		name, folder, _ := strings.Cut(context, "=")
		system, architecture, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("%s: want PLATFORM=FOLDER, as linux/amd64=FOLDER", context)
		}
		platform := v1.Platform{OS: system, Architecture: architecture}
		image, err := r.image(folder, platform, o.when)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		if own == nil || architecture == runtime.GOARCH {
			own = image
		}
	}
	annotated, ok := mutate.Annotations(index, r.config.Labels).(v1.ImageIndex)
	if !ok {
		return errors.New("an index with annotations is no index")
	}
	return writeLayout(annotated, own, o, out)
}

// image makes the image of one platform: a single layer.
func (r *recipe) image(context string, platform v1.Platform, when time.Time) (v1.Image, error) {
	all, err := r.entries(context)
	if err != nil {
		return nil, err
	}
	content := new(bytes.Buffer)
	compressed, err := gzip.NewWriterLevel(content, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeTar(compressed, all, when), compressed.Close()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: when}, CreatedBy: "deploy/Dockerfile"}})
	if err != nil {
		return nil, err
	}
	image, err = mutate.ConfigFile(image, configOf(image, r, platform, when))
	if err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(image, r.config.Labels).(v1.Image)
	if !ok {
		return nil, errors.New("an image with annotations is no image")
	}
	return annotated, nil
}

func configOf(image v1.Image, r *recipe, platform v1.Platform, when time.Time) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		config = &v1.ConfigFile{}
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = platform.OS, platform.Architecture, v1.Time{Time: when}, r.config
	return config
}

// writeLayout writes the OCI layout of an index, and a manifest of own for docker load, into a tar file.
func writeLayout(index v1.ImageIndex, own v1.Image, o imageOptions, out string) (err error) {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	target, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	_, version, _ := strings.Cut(o.tag, ":")
	names := map[string]string{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/" + o.tag}
	if err := target.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	if err := writeDockerManifest(own, o.tag, filepath.Join(dir, "manifest.json")); err != nil {
		return err
	}
	all, err := entries(dir, "")
	if err != nil {
		return err
	}
	for i := range all {
		all[i].name = path.Clean(all[i].name) + map[bool]string{true: "/"}[all[i].file == ""]
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(file, all, o.when), file.Close())
}

// writeDockerManifest writes the manifest.json of `docker save`, which names the blobs of the layout.
func writeDockerManifest(image v1.Image, tag, name string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	blob := func(hash v1.Hash) string { return path.Join("blobs", hash.Algorithm, hash.Hex) }
	layers := make([]string, len(manifest.Layers))
	for i, layer := range manifest.Layers {
		layers[i] = blob(layer.Digest)
	}
	text, err := json.Marshal([]map[string]any{{"Config": blob(manifest.Config.Digest), "RepoTags": []string{tag}, "Layers": layers}})
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
