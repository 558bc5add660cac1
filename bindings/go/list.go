package readpast

import (
	"context"
	"encoding/json"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Installed is a queue that is installed.
type Installed struct {
	// Queue is its name.
	Queue string
	// Table is the table of its items with its schema, as the catalog has it; empty where hand-written procedures hide it.
	Table string
	// Description is JSON.
	Description string
	// Own is whether the items are in a table of readpast's own, which [Drop] drops with them.
	Own bool
}

// List returns the queues that are installed in the schema that the options name, by their names. A login that may use one
// of them may ask. It fails with [StatusSchemaMissing] where nothing is installed.
func List(ctx context.Context, options Options) ([]Installed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	listed, failure := capi.List(options.pairs())
	if failure != nil {
		return nil, failed(failure)
	}
	var all []Installed
	err := json.Unmarshal([]byte(listed), &all)
	return all, err
}

// Drop drops the queue called name. It asks nothing. If the items are in a table of readpast's own, they all go with it,
// those in work as well; a table that was there before stays with its rows. It needs the rights of who installed the
// queue, and fails with [StatusUnknownQueue] when there is no such queue.
func Drop(ctx context.Context, options Options, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return failed(capi.Drop(options.pairs(), name))
}
