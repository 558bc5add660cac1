package readpast

import "github.com/readpast/readpast/bindings/go/internal/capi"

// Metrics is what this process has done with its queues since it began, in Prometheus' text format (text/plain;
// version=0.0.4; charset=utf-8), for a page that Prometheus scrapes: claims, settlements by what came of them, retries,
// errors, how long calls took, connections and workers. docs/operate.md lists the names. It asks no server, and any
// goroutine may call it at any time. It fails when the library is of another binary interface, or out of memory.
//
// The module readpastprom, beside this one, has a prometheus.Collector of them.
func Metrics() (string, error) {
	text, failure := capi.Metrics()
	return text, failed(failure)
}
