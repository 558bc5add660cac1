package readpastprom_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	readpast "github.com/readpast/readpast/bindings/go"
	"github.com/readpast/readpast/bindings/go/readpastprom"
)

func registry(t *testing.T) *prometheus.Registry {
	t.Helper()
	made := prometheus.NewPedanticRegistry()
	if err := made.Register(readpastprom.NewCollector()); err != nil {
		t.Fatal(err)
	}
	return made
}

// names are those of all figures in a text.
func names(text string) (found []string) {
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\S+ \S+)$`).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	slices.Sort(found)
	return found
}

func TestTheCollectorReportsTheWorkOfTheProcess(t *testing.T) {
	ctx, name := context.Background(), fmt.Sprintf("Told%d", time.Now().UnixMilli())
	options := readpast.Options{
		"connection": os.Getenv("READPAST_CONNECTION"), "schema": "readpast_go",
		"login.timeout_ms": "600000", "query.timeout_ms": "600000", "retry.budget_ms": "600000",
	}
	spec := fmt.Sprintf(`{"queue": %q, "columns": [{"name": "Payload", "type": "text"}]}`, name)
	if err := readpast.Install(ctx, options, spec); err != nil {
		t.Fatal(err)
	}
	queue, err := readpast.Open(ctx, options, name)
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	if _, err := queue.Enqueue(ctx, readpast.NewItem{}, readpast.NewItem{}); err != nil {
		t.Fatal(err)
	}
	batch, err := queue.Claim(ctx, 2, 0)
	if err != nil || batch.Len() != 2 {
		t.Fatal(batch.Len(), err)
	}
	defer batch.Close()
	if _, err := queue.Settle(ctx, batch.Item(0).Complete()); err != nil {
		t.Fatal(err)
	}

	gathered, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	figure := func(family, label, value string) *dto.Metric {
		t.Helper()
		for _, found := range gathered {
			for _, metric := range found.GetMetric() {
				has := map[string]string{}
				for _, pair := range metric.GetLabel() {
					has[pair.GetName()] = pair.GetValue()
				}
				if found.GetName() == family && has["queue"] == name && (label == "" || has[label] == value) {
					return metric
				}
			}
		}
		t.Fatalf("there is no %s with %s=%s", family, label, value)
		return nil
	}
	if claimed := figure("readpast_claimed_items_total", "", "").GetCounter().GetValue(); claimed != 2 {
		t.Errorf("%v items were claimed, and not 2", claimed)
	}
	if done := figure("readpast_settled_items_total", "outcome", "Completed").GetCounter().GetValue(); done != 1 {
		t.Errorf("%v items were completed, and not 1", done)
	}
	if calls := figure("readpast_call_duration_seconds", "call", "claim").GetHistogram(); calls.GetSampleCount() != 1 {
		t.Errorf("%v claims were made, and not 1", calls.GetSampleCount())
	}
	if workers := figure("readpast_workers", "", "").GetGauge().GetValue(); workers != 0 {
		t.Errorf("there are %v workers", workers)
	}
}

func TestTheCollectorHasAllThatTheTextHas(t *testing.T) {
	text, err := readpast.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	// A registry does not show a name that has no figures yet.
	var wanted []string
	for _, name := range names(text) {
		if regexp.MustCompile(`(?m)^` + strings.Fields(name)[0] + `(_count)?[{ ]`).MatchString(text) {
			wanted = append(wanted, name)
		}
	}
	gathered, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, family := range gathered {
		if _, err := expfmt.MetricFamilyToText(&told, family); err != nil {
			t.Fatal(err)
		}
	}
	if found := names(told.String()); len(found) == 0 || !slices.Equal(found, wanted) {
		t.Errorf("%v, and not %v", found, wanted)
	}
}
