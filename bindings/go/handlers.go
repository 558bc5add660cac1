package readpast

import (
	"context"
	"reflect"
	"sort"
	"strings"
)

// Handlers chooses an item's handler by its type: Handle adds one for a type, HandleAll one for all other types. The zero value has
// none. All are added before a Worker runs, and from then on any number of goroutines may use it.
//
// An item that carries no such work becomes Failed, with the place that cannot be read, and is not tried again. One whose type has no
// handler is tried again: a newer version of the program may know it. Items of a described table without a column for their type go to
// the handler of the only type there is.
type Handlers struct {
	// Others, if any, handles the items whose type has no handler of its own, whatever they carry. HandleAll sets it.
	Others Handler

	byType map[string]Handler
	around []func(Handler) Handler
}

// TypedHandler is a [Handler] that gets the work that the item carries besides.
type TypedHandler[T any] func(ctx context.Context, work T, item *Item) (Settlement, error)

// HandleOption is InColumn or OfType.
type HandleOption func(*handleOptions)

type handleOptions struct {
	column, itemType string
}

// InColumn reads the work from one column, a JSON document. Without it, the fields of the work are the columns.
func InColumn(column string) HandleOption {
	return func(options *handleOptions) { options.column = column }
}

// OfType is the type of the items, in place of the name of T.
func OfType(name string) HandleOption {
	return func(options *handleOptions) { options.itemType = name }
}

// Handle has a handler for the items whose type is the name of T, which are read as encoding/json does. Without InColumn each field of
// T gets the column with its name, or with that of its json tag, in any case; a decimal may be a number or a string, a date a time.Time
// or a string. If T is no struct, it is read from [Item.JSON]. It panics if the type has a handler already, or T has no name.
func Handle[T any](handlers *Handlers, handler TypedHandler[T], options ...HandleOption) {
	chosen := chosenOf(options)
	if chosen.itemType == "" {
		chosen.itemType = workOf[T]().Name()
	}
	if chosen.itemType == "" {
		panic("readpast: a type without a name needs readpast.OfType")
	}
	if _, has := handlers.byType[chosen.itemType]; has {
		panic("readpast: there is a handler for the type " + chosen.itemType + " already")
	}
	if handlers.byType == nil {
		handlers.byType = map[string]Handler{}
	}
	handlers.byType[chosen.itemType] = typed(handler, chosen.column)
}

// HandleAll has a handler for all items whose type has none of its own, which carry work of one kind. It panics with OfType.
func HandleAll[T any](handlers *Handlers, handler TypedHandler[T], options ...HandleOption) {
	chosen := chosenOf(options)
	if chosen.itemType != "" {
		panic("readpast: HandleAll is for items of any type")
	}
	handlers.Others = typed(handler, chosen.column)
}

// Around puts something around the handling of each item, also of one that cannot be read; the first that is added is the outermost.
// [readpastotel.Tracing.Handler] is one.
//
// [readpastotel.Tracing.Handler]: https://pkg.go.dev/github.com/readpast/readpast/bindings/go/readpastotel#Tracing.Handler
func (h *Handlers) Around(middleware func(Handler) Handler) {
	h.around = append(h.around, middleware)
}

// Handler is that of a [Worker].
func (h *Handlers) Handler() Handler {
	handler := Handler(h.choose)
	for i := len(h.around) - 1; i >= 0; i-- {
		handler = h.around[i](handler)
	}
	return handler
}

func (h *Handlers) choose(ctx context.Context, item *Item) (Settlement, error) {
	itemType := item.Type()
	handler, has := h.byType[itemType]
	if !has {
		handler = h.Others
	}
	known := make([]string, 0, len(h.byType))
	for name := range h.byType {
		known = append(known, name)
	}
	if handler == nil && len(known) == 1 && itemType == "" && item.Value("Type").Err() != nil {
		// A table of the user's without a column for it has one type of items.
		handler = h.byType[known[0]]
	}
	if handler != nil {
		return handler(ctx, item)
	}
	if itemType == "" {
		itemType = "(none)"
	}
	sort.Strings(known)
	// A newer version of the program may know it: during a roll-out both are at work.
	return item.Retry("this worker has no handler for the type " + itemType + "; it has some for " + strings.Join(known, ", ")), nil
}

func chosenOf(options []HandleOption) (chosen handleOptions) {
	for _, option := range options {
		option(&chosen)
	}
	return chosen
}

// workOf is T, or what it points to.
func workOf[T any]() reflect.Type {
	return pointed(reflect.TypeOf((*T)(nil)).Elem())
}

// pointed is the type that a pointer points to, and another type itself.
func pointed(given reflect.Type) reflect.Type {
	for given.Kind() == reflect.Pointer {
		given = given.Elem()
	}
	return given
}
