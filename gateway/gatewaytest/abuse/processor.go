package abuse

import (
	"context"
	"fmt"
	"strings"
)

// processorAttacks take processor time by what a client may choose for its watches and lists.
var processorAttacks = []attack{
	{name: "dear filters", prepare: smallObject, memory: 384, run: func(ctx context.Context, s *scene) string {
		return s.disturb(ctx, openCrowd(ctx, s, 900, func(i int) string {
			return attackerPath + "?watch&resourceVersion=" + revisionOf(s, attackerPath+"/target") + "&filter=" + dearFilter(i)
		}), 10)
	}},
	{name: "Tables of a large object", prepare: largeObject, memory: 512, run: func(ctx context.Context, s *scene) string {
		return s.disturb(ctx, openCrowd(ctx, s, 400, func(int) string {
			return attackerPath + "?watch&includeObject=None&resourceVersion=" + revisionOf(s, attackerPath+"/target")
		}, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"), 8)
	}},
	{name: "field selectors on a large object", prepare: largeObject, memory: 512, run: func(ctx context.Context, s *scene) string {
		return s.disturb(ctx, openCrowd(ctx, s, 400, func(i int) string {
			return attackerPath + fmt.Sprintf("?watch&fields=metadata.name&fieldSelector=data.z!=%d&resourceVersion=", i) + revisionOf(s, attackerPath+"/target")
		}), 8)
	}},
	{name: "lists with dear filters", prepare: manyObjects, run: func(ctx context.Context, s *scene) string {
		n := parallel(ctx, 16, 3, func(i int) { s.do(ctx, "GET", attackerPath+"?filter="+dearFilter(i), "") })
		return fmt.Sprintf("%d lists of 200 objects", n)
	}},
}

const attackerPath = "/api/v1/namespaces/attacker/configmaps"

func configMap(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{%s}}`, name, data)
}

func smallObject(s *scene) { s.gateway.Create(s, attackerPath, configMap("target", `"n":"0"`)) }

func largeObject(s *scene) { s.gateway.Create(s, attackerPath, configMap("target", large(0))) }

func manyObjects(s *scene) {
	for i := range 200 {
		s.gateway.Create(s, attackerPath, configMap(fmt.Sprintf("target-%d", i), `"n":"0"`))
	}
}

// large is data of 530 KB.
func large(n int) string {
	return fmt.Sprintf(`"n":"%d","text":%q`, n, strings.Repeat("x", 530_000))
}

// dearFilter is a filter that costs almost as much as one may, and is true. Each number makes another one.
func dearFilter(i int) string {
	numbers := strings.TrimSuffix(strings.Repeat("1,", 15), ",")
	return fmt.Sprintf("[%s].all(a,[%s].all(b,a!=b%%2B%d))", numbers, numbers, i+1)
}

// disturb writes the attacker's object some times, and waits for the events of all watches. None may be lost.
func (s *scene) disturb(ctx context.Context, c *crowd, writes int) string {
	s.Helper()
	isLarge := len(s.gateway.Do(s, "GET", attackerPath+"/target", "").Body) > 100_000
	for n := range writes {
		data := fmt.Sprintf(`"n":"%d"`, n+1)
		if isLarge {
			data = large(n + 1)
		}
		s.put(attackerPath+"/target", configMap("target", data))
	}
	want := c.open * writes
	got, errors := c.await(ctx, want)
	if errors == 0 && got < want {
		s.Errorf("the attacker's watches have %d events, want %d", got, want)
	}
	return fmt.Sprintf("%d watches, %d writes, %d events, %d errors", c.open, writes, got, errors)
}
