package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	readpast "github.com/readpast/readpast/bindings/go"
)

type answer map[string]any

func of(status readpast.Status) answer {
	return answer{"status": status.String()}
}

func (a answer) with(member string, value any) answer {
	a[member] = value
	return a
}

// failed is the answer to a call that gave an error. A result that is to be expected has none in the answer.
func failed(err error) answer {
	var failure *readpast.Error
	if !errors.As(err, &failure) {
		panic(err)
	}
	if failure.Status > readpast.StatusOK {
		return of(failure.Status)
	}
	return of(failure.Status).with("error", answer{
		"message": failure.Message, "sqlstate": orNull(failure.SQLState), "native_code": failure.NativeCode,
		"retryable": failure.Retryable, "operation": orNull(failure.Operation),
	})
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// upper is PARTIALLY_COMPLETED for PartiallyCompleted, and GUID for GUID.
func upper(name string) string {
	var made strings.Builder
	previous := 'A'
	for _, letter := range name {
		if unicode.IsUpper(letter) && unicode.IsLower(previous) {
			made.WriteByte('_')
		}
		made.WriteRune(unicode.ToUpper(letter))
		previous = letter
	}
	return made.String()
}

func itemsOf(batch *readpast.Batch) []answer {
	items := []answer{}
	batch.All()(func(_ int, item *readpast.Item) bool {
		columns := answer{}
		for _, column := range batch.Columns() {
			columns[column.Name] = valueOf(item.Value(column.Name))
		}
		items = append(items, answer{
			"key": item.Key, "token": item.Token, "attempt": item.Attempt, "columns": columns, "json": item,
			"state": upper(item.State().String()), "type": orNull(item.Type()), "step": orNull(item.Step()),
			"due": timeOrNull(item.Due()), "enqueued": timeOrNull(item.Enqueued()), "lease_until": timeOrNull(item.LeaseUntil()),
			"traceparent": orNull(item.Traceparent()), "tracestate": orNull(item.Tracestate()),
		})
		return true
	})
	return items
}

func timeOrNull(moment time.Time) any {
	if moment.IsZero() {
		return nil
	}
	return moment
}

func valueOf(value readpast.Value) answer {
	return answer{"type": upper(value.Type().String()), "value": plain(value)}
}

// plain is the value as JSON has it, through the access for its type.
func plain(value readpast.Value) any {
	if value.IsNull() {
		return nil
	}
	switch value.Type() {
	case readpast.TypeBoolean:
		return must(value.Bool())
	case readpast.TypeInteger:
		return must(value.Int64())
	case readpast.TypeFloat:
		return must(value.Float64())
	case readpast.TypeBinary:
		return hex.EncodeToString(must(value.Bytes()))
	}
	return must(value.Text())
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprint("a value cannot be read: ", err))
	}
	return value
}

func outcomesOf(outcomes readpast.Outcomes) []answer {
	told := []answer{}
	for _, outcome := range outcomes {
		told = append(told, answer{
			"answer": outcome.Answer.String(), "state": upper(outcome.State.String()),
			"attempt": outcome.Attempt, "token": outcome.Token,
		})
	}
	return told
}
