package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// recipe is a Dockerfile that begins from nothing and copies files. Anything else needs an engine, and is refused.
type recipe struct {
	config v1.Config
	copies []copied
}

// copied is a COPY: a file or folder of the context, and where it is in the image.
type copied struct {
	from, to string
	uid      int
}

func readDockerfile(name string) (*recipe, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r := &recipe{config: v1.Config{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, ExposedPorts: map[string]struct{}{}, Labels: map[string]string{}}}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		if err := r.add(instruction, rest); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, line, err)
		}
	}
	return r, lines.Err()
}

func (r *recipe) add(instruction, rest string) (err error) {
	words := strings.Fields(rest)
	switch instruction {
	case "FROM":
		if rest != "scratch" {
			err = fmt.Errorf("want FROM scratch")
		}
	case "COPY":
		err = r.copy(words)
	case "USER":
		r.config.User = rest
	case "WORKDIR":
		r.config.WorkingDir = rest
	case "EXPOSE":
		r.config.ExposedPorts[rest+"/tcp"] = struct{}{}
	case "LABEL":
		key, value, _ := strings.Cut(rest, "=")
		r.config.Labels[key], err = strconv.Unquote(value)
	case "ENTRYPOINT":
		err = json.Unmarshal([]byte(rest), &r.config.Entrypoint)
	case "CMD":
		err = json.Unmarshal([]byte(rest), &r.config.Cmd)
	case "HEALTHCHECK":
		r.config.Healthcheck, err = healthcheck(words)
	default:
		err = fmt.Errorf("pack does not know this instruction")
	}
	return err
}

func (r *recipe) copy(words []string) error {
	var c copied
	if owner, ok := strings.CutPrefix(words[0], "--chown="); ok {
		uid, gid, _ := strings.Cut(owner, ":")
		number, err := strconv.Atoi(uid)
		if err != nil || uid != gid {
			return fmt.Errorf("want --chown=UID:UID")
		}
		c.uid, words = number, words[1:]
	}
	if len(words) != 2 {
		return fmt.Errorf("want COPY FROM TO")
	}
	c.from, c.to = words[0], words[1]
	r.copies = append(r.copies, c)
	return nil
}

func healthcheck(words []string) (*v1.HealthConfig, error) {
	check := &v1.HealthConfig{}
	for i, word := range words {
		if word == "CMD" {
			check.Test = []string{"CMD"}
			var command []string
			err := json.Unmarshal([]byte(strings.Join(words[i+1:], " ")), &command)
			check.Test = append(check.Test, command...)
			return check, err
		}
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "--interval":
			check.Interval, err = time.ParseDuration(value)
		case "--timeout":
			check.Timeout, err = time.ParseDuration(value)
		case "--start-period":
			check.StartPeriod, err = time.ParseDuration(value)
		case "--retries":
			check.Retries, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("unknown option %s", word)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("want CMD")
}

// entries returns the files that the recipe copies from a context, with the folders that contain them.
func (r *recipe) entries(context string) (all []entry, err error) {
	seen := map[string]bool{}
	for _, c := range r.copies {
		to := strings.TrimPrefix(c.to, "/")
		for _, parent := range parents(to) {
			if !seen[parent] {
				seen[parent], all = true, append(all, entry{name: parent, mode: 0o755})
			}
		}
		found, err := entries(filepath.Join(context, c.from), to)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			e.uid = c.uid
			all = append(all, e)
		}
	}
	return all, nil
}

// parents are the folders above a path: usr/, usr/local/.
func parents(name string) (all []string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		all = append([]string{dir + "/"}, all...)
	}
	return all
}
