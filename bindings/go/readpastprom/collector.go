// Package readpastprom gives the figures of package readpast to Prometheus' client for Go. It is a module of its own, so
// that other programs do not need that client:
//
//	prometheus.MustRegister(readpastprom.NewCollector())
package readpastprom

import (
	"errors"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	readpast "github.com/readpast/readpast/bindings/go"
)

// NewCollector returns a collector that reads [readpast.Metrics] at the moment when it is asked. The figures are the whole
// process's: one collector is enough, whatever queues there are. They come by the names that the library gives them, also
// those of a later version, and so the collector describes none of them before.
func NewCollector() prometheus.Collector {
	return collector{}
}

type collector struct{}

// Describe describes nothing: only the library knows its figures.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures out of the library's text.
func (collector) Collect(metrics chan<- prometheus.Metric) {
	text, err := readpast.Metrics()
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	decoder := expfmt.NewDecoder(strings.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain))
	for {
		var family dto.MetricFamily
		switch err := decoder.Decode(&family); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			metrics <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
			return
		}
		for _, read := range family.GetMetric() {
			labels := make([]string, 0, len(read.GetLabel()))
			for _, label := range read.GetLabel() {
				labels = append(labels, label.GetName())
			}
			metrics <- metric{prometheus.NewDesc(family.GetName(), family.GetHelp(), labels, nil), read}
		}
	}
}

// metric is a figure as it was read.
type metric struct {
	desc *prometheus.Desc
	read *dto.Metric
}

func (m metric) Desc() *prometheus.Desc {
	return m.desc
}

func (m metric) Write(to *dto.Metric) error {
	to.Label, to.Counter, to.Gauge, to.Histogram = m.read.Label, m.read.Counter, m.read.Gauge, m.read.Histogram
	return nil
}
