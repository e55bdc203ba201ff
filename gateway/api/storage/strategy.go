package storage

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/api/object"
)

// createByStrategy completes and validates a new object by the strategy of its kind.
func (wr *Request) createByStrategy(ctx context.Context, d object.Object) error {
	began := time.Now()
	warnings, err := wr.Resource.Strategy.Create(ctx, d.Object)
	wr.Account.Charge(time.Since(began))
	if err = wr.strategyError(warnings, err); err != nil {
		return err
	}
	wr.Warnings.AddFinalizers(d.GetFinalizers())
	return object.CheckSize(d, object.Empty(wr.Resource)) // with its defaults
}

// updateByStrategy completes and validates the object that replaces old by the strategy of its kind.
func (wr *Request) updateByStrategy(ctx context.Context, next, old object.Object) error {
	began := time.Now()
	warnings, err := wr.Resource.Strategy.Update(ctx, wr.Subresource, next.Object, old.Object)
	wr.Account.Charge(time.Since(began))
	if err = wr.strategyError(warnings, err); err != nil {
		return err
	}
	wr.Warnings.AddFinalizers(object.NewFinalizers(old.GetFinalizers(), next.GetFinalizers()))
	return object.CheckSize(next, old)
}

// strategyError adds the warnings of a strategy to those of the request, and returns its error as a Status.
func (wr *Request) strategyError(warnings []string, err error) error {
	wr.Warnings.Add(warnings, "warnings about the object")
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return object.CannotHandle(wr.Resource, err)
	}
	return err
}
