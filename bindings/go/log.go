package readpast

import (
	"errors"
	"log/slog"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// The lines that a worker logs. No column of an item is in them: the handler alone words its failures.

func (r *run) logStart() {
	r.log(slog.LevelInfo, "the worker started",
		slog.Int("concurrency", max(r.Concurrency, 1)), slog.Int("batch_size", r.batchSize()))
}

func (r *run) logEnd() {
	if r.err != nil {
		told := []slog.Attr{slog.Any("error", r.err)}
		var failure *Error
		if errors.As(r.err, &failure) {
			told = append(told, slog.String("status", failure.Status.String()))
		}
		r.log(slog.LevelError, "the worker ended", told...)
		return
	}
	figures, _ := r.engine.Figures() // zeros in the child of a fork
	r.log(slog.LevelInfo, "the worker stopped", slog.Int64("claimed", figures.Claimed),
		slog.Int64("settled", figures.Settled), slog.Int64("released", figures.Released),
		slog.Int64("lost", figures.Lost), slog.Int64("refused", figures.Refused), slog.Int64("calls", figures.Calls))
}

// logHandled logs an attempt that failed, by an error, a panic, or because the handler returned a failure.
func (r *run) logHandled(settlement *Settlement, isMistake bool) {
	switch {
	case isMistake:
		r.log(slog.LevelError, "the handler made a mistake; the item is not tried again", of(settlement)...)
	case settlement.Action == ActionRetry || settlement.Action == ActionFail:
		r.log(slog.LevelWarn, "an attempt failed", of(settlement)...)
	}
}

// logEvent logs the engine's events. An item that is settled as its handler asked is not worth a line.
func (r *run) logEvent(event *Event) {
	if event.Line == "" {
		return
	}
	var of []slog.Attr
	if event.Key != "" {
		of = []slog.Attr{slog.String("key", event.Key), slog.Int("attempt", event.Attempt)}
	}
	if event.Action != 0 {
		of = append(of, slog.String("action", event.Action.String()))
	}
	r.log(slog.LevelWarn, event.Line, append(of, slog.String("status", event.Answer.String()))...)
}

// log adds the names of queue and worker, and passes the values of Run's context on, for handlers that look for a trace in it.
func (r *run) log(level slog.Level, message string, attributes ...slog.Attr) {
	logger := r.Logger
	if logger == nil {
		logger = slog.Default()
	}
	whose := []slog.Attr{slog.String("queue", r.Queue.Name()), slog.String("worker", r.Queue.WorkerName())}
	logger.LogAttrs(r.given, level, message, append(whose, attributes...)...)
}

func of(settlement *Settlement) []slog.Attr {
	attributes := []slog.Attr{
		slog.String("key", settlement.Key), slog.Int("attempt", settlement.Attempt),
		slog.String("action", settlement.Action.String()),
	}
	if settlement.Error != nil {
		attributes = append(attributes, slog.String("error", capi.LogText(*settlement.Error)))
	}
	return attributes
}
