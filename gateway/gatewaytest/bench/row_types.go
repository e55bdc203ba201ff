package main

import (
	"context"
	"fmt"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// oneType is the contender with a single custom resource.
const oneType = "one type"

// typesRow measures the cost of unused resource types: at the start, and in memory.
func typesRow(figures []figure) row {
	return row{name: "types", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		add := func(name, binary string, types int) error {
			e, err := s.openTypes(ctx, o, binary, types)
			if err == nil {
				o.add(contender{name: name, run: func(ctx context.Context) (sample, error) { return s.startTypes(ctx, binary, e, types) }})
			}
			return err
		}
		for _, product := range s.products {
			if err := add(product.name, product.binary, s.size.resourceTypes); err != nil {
				return o.end(err)
			}
		}
		if s.withPeers {
			return o.end(add(oneType, s.products[0].binary, 1))
		}
		return o.end(nil)
	}}
}

// openTypes starts an etcd and defines custom resources in it, through a gateway that then ends.
func (s *stage) openTypes(ctx context.Context, o *opening, binary string, types int) (*etcd, error) {
	e, err := s.startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	o.own(e.close)
	p, err := s.startProduct(ctx, binary, e, plain)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	c, err := dial(ctx, p.endpoint)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for i := range types {
		if _, err := c.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []byte(definition(i))); err != nil {
			return nil, err
		}
	}
	return e, untilServed(ctx, c, types)
}

// untilServed waits until the last of the types is served.
func untilServed(ctx context.Context, c *client, types int) error {
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	for {
		_, err := c.get(typeURL(types - 1))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the last of %d types is not served: %w", types, err)
		}
		_ = program.Pause(ctx, 50*time.Millisecond)
	}
}

// startTypes is one round: a gateway starts, and is left idle; at the end the last type is served.
func (s *stage) startTypes(ctx context.Context, binary string, e *etcd, types int) (sample, error) {
	p, err := s.startProduct(ctx, binary, e, plain)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	memory, err := p.Settled(ctx, s.size.settle)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, p.endpoint)
	if err != nil {
		return nil, err
	}
	defer c.close()
	_, err = c.get(typeURL(types - 1))
	return sample{"start": p.startUp.Seconds(), "memory": float64(memory) / (1 << 20)}, err
}

func typeURL(i int) string {
	return fmt.Sprintf("/apis/bench.example.com/v1/namespaces/default/types%03d", i)
}

// definition returns a CustomResourceDefinition with a usual schema.
func definition(i int) string {
	name := fmt.Sprintf("types%03d", i)
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.bench.example.com"},
"spec":{"group":"bench.example.com","scope":"Namespaced","names":{"plural":"%[1]s","singular":"%[1]ssingle","kind":"Type%03[2]d","listKind":"Type%03[2]dList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":0},"image":{"type":"string"},
"ports":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer"}}}},
"options":{"type":"object","additionalProperties":{"type":"string"}}}},
"status":{"type":"object","properties":{"ready":{"type":"boolean"},"message":{"type":"string"}}}}}}}]}}`, name, i)
}
