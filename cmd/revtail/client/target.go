package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Target is the objects of a resource that arguments name.
type Target struct {
	Resource Resource
	Names    []string // empty: all
}

// ArgsUsage are the arguments that Targets reads.
const ArgsUsage = "(RESOURCE[,RESOURCE…] | RESOURCE NAME… | RESOURCE/NAME…)"

// Targets reads arguments as kubectl does: resources or categories with commas, a resource and names, or RESOURCE/NAME.
func Targets(resources []Resource, args []string) ([]Target, error) {
	if err := CheckArgs(args); err != nil {
		return nil, err
	}
	var out []Target
	if !strings.Contains(args[0], "/") {
		found, err := findAll(resources, args[0])
		if err != nil {
			return nil, err
		}
		if names := args[1:]; len(names) > 0 && len(found) > 1 {
			return nil, fmt.Errorf("names are given for several resources (%s): want one resource, or RESOURCE/NAME…", args[0])
		}
		for _, r := range found {
			out = append(out, Target{r, args[1:]})
		}
		return out, nil
	}
	for _, arg := range args {
		name, object, _ := strings.Cut(arg, "/")
		r, err := Find(resources, name)
		if err != nil {
			return nil, err
		}
		if last := len(out) - 1; last >= 0 && out[last].Resource.sameAs(r) {
			out[last].Names = append(out[last].Names, object)
			continue
		}
		out = append(out, Target{r, []string{object}})
	}
	return out, nil
}

// CheckArgs refuses arguments that Targets would refuse whatever the resources of the gateway are.
func CheckArgs(args []string) error {
	if len(args) == 0 {
		return errors.New("no resource is given: want, for example, configmaps")
	}
	resource, object, isPair := strings.Cut(args[0], "/")
	for i, arg := range args {
		var name string
		switch before, after, found := strings.Cut(arg, "/"); {
		case isPair && found:
			name = after
		case isPair:
			return fmt.Errorf("two names are given, %q and %q: want %s %s/%s, or %s %s %s", object, arg, args[0], resource, arg, resource, object, arg)
		case found:
			return fmt.Errorf("%s and %s cannot be mixed: want %s, or %s and no %s", args[0], arg, after, arg, args[0])
		case i == 0:
			if slices.Contains(strings.Split(arg, ","), "") {
				return fmt.Errorf("argument %q: the name of a resource is empty: want, for example, configmaps,secrets", arg)
			}
			continue
		default:
			name = before
		}
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/%") { // would change the path of the URL
			return fmt.Errorf("argument %q: %q is no name of an object: want, for example, web-1", arg, name)
		}
	}
	return nil
}

// CheckObject refuses arguments that name more or less than one object. command is that of an example.
func CheckObject(command string, args []string) error {
	if err := CheckArgs(args); err != nil {
		return err
	}
	isPair := strings.Contains(args[0], "/")
	switch {
	case !isPair && strings.Contains(args[0], ","):
		return fmt.Errorf("several resources are given, %s: want one object, for example, %s configmap/web", args[0], command)
	case !isPair && len(args) == 1:
		return fmt.Errorf("no object of %s is named: want, for example, %s %s/web", args[0], command, args[0])
	case isPair && len(args) > 1:
		return fmt.Errorf("two objects are named, %s and %s: want one", args[0], args[1])
	case len(args) > 2:
		return fmt.Errorf("two objects are named, %s and %s: want one", args[1], args[2])
	}
	return nil
}

// findAll finds resources and categories, separated by commas. It returns each resource once.
func findAll(resources []Resource, list string) ([]Resource, error) {
	var out []Resource
	add := func(r Resource) {
		if !slices.ContainsFunc(out, r.sameAs) {
			out = append(out, r)
		}
	}
	for name := range strings.SplitSeq(list, ",") {
		members := InCategory(resources, name)
		for _, r := range members {
			add(r)
		}
		if len(members) > 0 {
			continue
		}
		r, err := Find(resources, name)
		if err != nil {
			return nil, err
		}
		add(r)
	}
	return out, nil
}

// InCategory returns the resources of a category, each in its preferred version.
func InCategory(resources []Resource, category string) []Resource {
	var out []Resource
	for _, r := range resources {
		if slices.Contains(r.Categories, category) && !slices.ContainsFunc(out, r.sameKeys) {
			out = append(out, r)
		}
	}
	return out
}

func (r Resource) sameAs(other Resource) bool { return r.sameKeys(other) && r.Version == other.Version }

// sameKeys reports whether two resources are versions of one.
func (r Resource) sameKeys(other Resource) bool {
	return r.Group == other.Group && r.Plural == other.Plural
}
