package readpast_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	readpast "github.com/readpast/readpast/bindings/go"
)

func TestTheProcessReportsItsWork(t *testing.T) {
	// A queue of the test's own: the figures are the whole process's.
	name := install(t)
	queue := must(readpast.Open(ctx, settings(), name))(t)
	defer queue.Close()
	items := claimed(t, queue, "a", "b", "c")
	must(queue.Settle(ctx, items.Item(0).Complete(), items.Item(1).Fail("never")))(t)
	text := must(readpast.Metrics())(t)
	of := fmt.Sprintf(`schema="readpast_go",queue=%q`, name)
	for figure, number := range map[string]int{
		"readpast_claimed_items_total{%s}":                       3,
		"readpast_settled_items_total{%s,outcome=\"Completed\"}": 1,
		"readpast_settled_items_total{%s,outcome=\"Failed\"}":    1,
	} {
		line := fmt.Sprintf(figure+" %d\n", of, number)
		if !strings.Contains(text, line) {
			t.Errorf("there is no %s in %s", line, text)
		}
	}
}

func TestAnyGoroutineMayAskForFigures(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 50 {
				if text, err := readpast.Metrics(); err != nil || !strings.HasPrefix(text, "# HELP ") {
					t.Errorf("%q, %v", text, err)
				}
			}
		}()
	}
	all.Wait()
}
