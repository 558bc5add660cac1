package readpast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// typed is the handler with what reads its work from the item.
func typed[T any](handler TypedHandler[T], column string) Handler {
	work, document := workOf[T](), (*Item).JSON
	name := work.Name()
	if name == "" {
		name = work.String()
	}
	if column != "" {
		document = inColumn(column)
	} else if fields := fieldsOf(work); fields != nil {
		document = fields.document
	}
	return func(ctx context.Context, item *Item) (Settlement, error) {
		text, err := document(item)
		if err != nil {
			return Settlement{}, err
		}
		var read T
		why := ""
		if err := json.Unmarshal(text, &read); err != nil {
			why = unread(err)
		} else if string(bytes.TrimSpace(text)) == "null" {
			why = "it is null"
		}
		if why != "" {
			// No other attempt reads it either.
			return item.Fail(fmt.Sprintf("the item carries no %s: %s", name, why)), nil
		}
		return handler(ctx, read, item)
	}
}

func inColumn(column string) func(*Item) (json.RawMessage, error) {
	return func(item *Item) (json.RawMessage, error) {
		text, err := item.Value(column).Text()
		if errors.Is(err, ErrNull) {
			return json.RawMessage("null"), nil
		}
		return json.RawMessage(text), err
	}
}

// workField is a field of the work that is a column.
type workField struct {
	name     string
	isNumber bool
	isTime   bool
}

type workFields []workField

// fieldsOf are the fields of a type; nil if it is no struct, or reads itself.
func fieldsOf(of reflect.Type) workFields {
	if of.Kind() != reflect.Struct || reflect.PointerTo(of).Implements(reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()) {
		return nil
	}
	fields := workFields{}
	for _, field := range reflect.VisibleFields(of) {
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if !field.IsExported() || tag == "-" || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		kind := pointed(field.Type)
		isNumber := kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64 && !strings.Contains(options, "string")
		fields = append(fields, workField{name, isNumber, kind == reflect.TypeOf(time.Time{})})
	}
	return fields
}

// document is the object of the columns that are fields.
func (fields workFields) document(item *Item) (json.RawMessage, error) {
	object := make(map[string]any, len(fields))
	for _, field := range fields {
		value := item.Value(field.name)
		switch text, err := value.Text(); {
		case value.Err() != nil:
			// There is no such column.
		case err == nil && value.Type() == TypeDecimal && field.isNumber:
			object[field.name] = json.Number(text)
		case err == nil && value.Type() == TypeDate && !field.isTime:
			object[field.name] = text
		default:
			object[field.name] = value.Any()
		}
	}
	return json.Marshal(object)
}

// unread is why a text is no such work, without what it holds, which may be secret.
func unread(err error) string {
	var wrong *json.UnmarshalTypeError
	var moment *time.ParseError
	var malformed *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		kind, _, _ := strings.Cut(wrong.Value, " ")
		place := wrong.Field
		if place == "" {
			place = "it"
		}
		return fmt.Sprintf("%s is a JSON %s, not %v", place, kind, wrong.Type)
	case errors.As(err, &moment):
		return "a text in it is no time like 2026-11-21T08:30:00Z"
	case errors.As(err, &malformed):
		return fmt.Sprintf("it is no JSON after %d bytes", malformed.Offset)
	}
	// The text of a type that reads itself, such as netip.Addr, mostly quotes what it was given.
	return "a value in it is refused by its type"
}
