package readpast

import (
	"log/slog"
	"unicode/utf8"
)

// What a worker tells its logger. No column of an item is in it: what a handler says of a failure is the handler's word.

func (r *run) logStart() {
	r.log(slog.LevelInfo, "the worker started", slog.String("worker", r.queue.WorkerName()),
		slog.Int("concurrency", max(r.Concurrency, 1)), slog.Int("batch_size", r.batchSize()))
}

func (r *run) logEnd() {
	worker := slog.String("worker", r.queue.WorkerName())
	if r.err != nil {
		r.log(slog.LevelError, "the worker ended", worker, slog.Any("error", r.err))
		return
	}
	r.log(slog.LevelInfo, "the worker stopped", worker)
}

// logHandled tells of an attempt that failed, by an error, a panic, or because the handler says so.
func (r *run) logHandled(settlement *Settlement, isMistake bool) {
	switch {
	case isMistake:
		r.log(slog.LevelError, "the handler made a mistake; the item is not tried again", of(settlement)...)
	case settlement.Action == ActionRetry || settlement.Action == ActionFail:
		r.log(slog.LevelWarn, "an attempt failed", of(settlement)...)
	}
}

func (r *run) logUnsettled(settlement *Settlement, outcome Outcome) {
	r.log(slog.LevelWarn, "an item could not be settled, and is left to whoever has it",
		slog.String("key", settlement.Key), slog.Int("attempt", settlement.Attempt),
		slog.String("action", settlement.Action.String()), slog.String("answer", outcome.Answer.String()),
		slog.String("state", outcome.State.String()))
}

// logRefused names what was refused by kind and length alone: its texts are nobody's business.
func (r *run) logRefused(given *Settlement, err error) {
	lengths := []any{}
	for _, text := range []struct {
		name string
		text *string
	}{{"step", given.Step}, {"response", given.Response}, {"error", given.Error}} {
		if text.text != nil {
			lengths = append(lengths, slog.Int(text.name, utf8.RuneCountInString(*text.text)))
		}
	}
	r.log(slog.LevelWarn,
		"what the handler gave was refused, and is left out: shorten or correct it, or widen its column",
		slog.String("key", given.Key), slog.Int("attempt", given.Attempt),
		slog.String("action", given.Action.String()), slog.Group("lengths", lengths...), slog.Any("error", err))
}

func (r *run) logTrouble(doing string, err error) {
	r.log(slog.LevelWarn, doing+" failed and is tried again", slog.Any("error", err))
}

// log passes the values of Run's context on, for handlers that look for a trace in it.
func (r *run) log(level slog.Level, message string, attributes ...slog.Attr) {
	logger := r.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(r.given, level, message, attributes...)
}

func of(settlement *Settlement) []slog.Attr {
	attributes := []slog.Attr{
		slog.String("key", settlement.Key), slog.Int("attempt", settlement.Attempt),
		slog.String("action", settlement.Action.String()),
	}
	if settlement.Error != nil {
		attributes = append(attributes, slog.String("error", *settlement.Error))
	}
	return attributes
}
