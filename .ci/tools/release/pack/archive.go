package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or a folder of an archive.
type entry struct {
	name string // with slashes; a folder ends with one
	file string // empty: a folder
	mode fs.FileMode
	size int64
	uid  int
}

// entries returns the files below a folder, sorted, with the folders that contain them. Modes are 0755 for programs and folders, else 0644.
func entries(source, folder string) (all []entry, err error) {
	err = filepath.WalkDir(source, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, name)
		if err != nil {
			return err
		}
		e := entry{name: path.Join(folder, filepath.ToSlash(below)), mode: 0o755}
		if d.IsDir() {
			if e.name += "/"; e.name == "./" {
				return nil
			}
			all = append(all, e)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&0o100 == 0 {
			e.mode = 0o644
		}
		e.file, e.size = name, info.Size()
		all = append(all, e)
		return nil
	})
	return all, err // WalkDir is in lexical order
}

func writeArchive(source, folder, out string, when time.Time) (err error) {
	all, err := entries(source, folder)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if strings.HasSuffix(out, ".zip") {
		return writeZip(file, all, when)
	}
	compressed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(compressed, all, when), compressed.Close())
}

func writeTar(w io.Writer, all []entry, when time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range all {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: e.size, ModTime: when, Typeflag: tar.TypeReg, Uid: e.uid, Gid: e.uid, Format: tar.FormatUSTAR}
		if e.file == "" {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if err := copyFile(archive, e); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeZip(w io.Writer, all []entry, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range all {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		header.SetMode(e.mode)
		if e.file == "" {
			header.SetMode(e.mode | fs.ModeDir)
			header.Method = zip.Store
		}
		into, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := copyFile(into, e); err != nil {
			return err
		}
	}
	return archive.Close()
}

func copyFile(w io.Writer, e entry) error {
	if e.file == "" {
		return nil
	}
	file, err := os.Open(e.file)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return errors.Join(err, file.Close())
}
