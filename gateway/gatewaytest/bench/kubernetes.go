package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// runKubernetes compares revtail with kube-apiserver and a null server. A whole run without a failure rewrites the document beside this
// program's source; any other writes below bin.
func runKubernetes(ctx context.Context, s *stage, o options, stdout io.Writer) error {
	r := newReport(ctx, s)
	r.Quick = o.quick
	versions, err := s.versions(ctx)
	if err != nil {
		return err
	}
	d := &document{report: r, versions: versions}
	var failed []error
	for _, part := range []struct {
		rows []versus
		to   *[]comparison
	}{{versusRows(s.size), &d.rows}, {replicaRows(s.size), &d.replica}} {
		compared, errs := s.compareAll(ctx, named(part.rows, o.rows, func(v versus) string { return v.name }), r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		*part.to, failed = compared, append(failed, errs...)
	}
	for _, c := range named(versusCurves(s.size), o.rows, func(c versusCurve) string { return c.name }) {
		g, err := s.growVersus(ctx, c, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		d.curves = append(d.curves, g)
	}
	if err := r.save(o.out); err != nil {
		return err
	}
	folder := "bin"
	if !o.quick && o.rows == "" && len(failed) == 0 {
		folder = filepath.Join("gateway", "gatewaytest", "bench")
	}
	if err := d.write(folder, stdout); err != nil {
		return err
	}
	if !o.quick {
		failed = append(failed, d.unexplained()...)
	}
	return errors.Join(failed...)
}

// compareAll measures rows, and returns the comparisons of those that do not fail.
func (s *stage) compareAll(ctx context.Context, rows []versus, r *report) (all []comparison, failed []error) {
	for _, v := range rows {
		res := s.measure(ctx, v.row)
		if ctx.Err() != nil {
			return all, failed
		}
		r.Samples[v.name] = res.samples
		if res.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", v.name, res.err))
			continue
		}
		all = append(all, v.compare(res)...)
	}
	return all, failed
}

// versions describes the programs, in the order of the contenders.
func (s *stage) versions(ctx context.Context) (string, error) {
	kubernetes, err := exec.CommandContext(ctx, s.kubeAPIServerProgram, "--version").Output() //nolint:gosec // the caller's own program
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", s.kubeAPIServerProgram, err)
	}
	store, err := exec.CommandContext(ctx, s.etcdProgram, "--version").Output() //nolint:gosec // the caller's own program
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", s.etcdProgram, err)
	}
	etcdVersion := strings.TrimPrefix(firstLine(string(store)), "etcd Version: ")
	return fmt.Sprintf("revtail %s, kube-apiserver %s, etcd %s", commit(ctx), strings.TrimPrefix(strings.TrimSpace(string(kubernetes)), "Kubernetes "), etcdVersion), nil
}
