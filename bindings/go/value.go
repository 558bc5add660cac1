package readpast

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// ErrNull is what a value says that is asked for more than whether it is NULL, and is.
var ErrNull = errors.New("the value is NULL")

// ErrType is what a value says that is asked for what it is not.
var ErrType = errors.New("the value is of another type")

// Value is a copy of what is in a column of an item.
type Value struct {
	column string
	value  capi.Value
	err    error
}

// Err returns why there is no value, not even NULL: StatusNotFound, there is no such column; StatusClosed, the batch was
// closed.
func (v Value) Err() error {
	return v.err
}

// IsNull reports whether the value is NULL, which the empty text is not.
func (v Value) IsNull() bool {
	return v.err == nil && v.value.Null
}

// Type is that of the column; 0 when there is an Err.
func (v Value) Type() ColumnType {
	return ColumnType(v.value.Type)
}

// Bool is true or false.
func (v Value) Bool() (bool, error) {
	return v.value.Whole != 0, v.must(TypeBoolean)
}

// Int64 is the whole number.
func (v Value) Int64() (int64, error) {
	return v.value.Whole, v.must(TypeInteger)
}

// Float64 is the floating point number.
func (v Value) Float64() (float64, error) {
	return v.value.Number, v.must(TypeFloat)
}

// Text is the text; of decimals, times, dates, GUIDs and JSON their exact text, as the library has it.
func (v Value) Text() (string, error) {
	return v.value.Text, v.must(TypeText, TypeDecimal, TypeTimestamp, TypeDate, TypeGUID, TypeJSON)
}

// JSON is the document, to be given to json.Unmarshal. A value of another program that is no JSON is an error.
func (v Value) JSON() (json.RawMessage, error) {
	if err := v.must(TypeJSON); err != nil {
		return nil, err
	}
	if !json.Valid([]byte(v.value.Text)) {
		return nil, fmt.Errorf("readpast: column %q: what is stored there is no JSON", v.column)
	}
	return json.RawMessage(v.value.Text), nil
}

// Bytes are the caller's own.
func (v Value) Bytes() ([]byte, error) {
	return v.value.Bytes, v.must(TypeBinary)
}

// Time is the time, in UTC, or the date, at midnight. One of PostgreSQL's that is infinite, or of a year after 9999 or before 1, is
// an error; Text gives it as it is.
func (v Value) Time() (time.Time, error) {
	if err := v.must(TypeTimestamp, TypeDate); err != nil {
		return time.Time{}, err
	}
	layout := time.DateOnly
	if v.Type() == TypeTimestamp {
		layout = timestamp
	}
	return time.Parse(layout, v.value.Text)
}

// timestamp is the layout of a time, with any fraction of a second behind it.
const timestamp = "2006-01-02T15:04:05"

// Any is the value as its type says: bool, int64, float64, []byte, time.Time or string, which decimals and GUIDs are
// too; json.RawMessage for JSON, or string where what is stored is none, or a time that Time has no place for; nil for NULL, and when there is an Err.
func (v Value) Any() any {
	switch {
	case v.err != nil || v.value.Null:
		return nil
	case v.Type() == TypeBoolean:
		return v.value.Whole != 0
	case v.Type() == TypeInteger:
		return v.value.Whole
	case v.Type() == TypeFloat:
		return v.value.Number
	case v.Type() == TypeBinary:
		return v.value.Bytes
	}
	if document, err := v.JSON(); err == nil {
		return document
	}
	if moment, err := v.Time(); err == nil {
		return moment
	}
	return v.value.Text
}

// String is the value for a person to read: NULL for NULL.
func (v Value) String() string {
	if v.err != nil {
		return v.err.Error()
	}
	if v.value.Null {
		return "NULL"
	}
	if text, err := v.Text(); err == nil {
		return text
	}
	return fmt.Sprint(v.Any())
}

// must returns why the value is not of one of the types, or nil.
func (v Value) must(types ...ColumnType) error {
	if v.err != nil {
		return v.err
	}
	for _, each := range types {
		if v.Type() != each {
			continue
		}
		if v.value.Null {
			return fmt.Errorf("readpast: column %q: %w", v.column, ErrNull)
		}
		return nil
	}
	return fmt.Errorf("readpast: column %q: %w: it is %v, not %v", v.column, ErrType, v.Type(), types[0])
}
