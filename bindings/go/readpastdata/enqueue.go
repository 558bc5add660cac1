package readpastdata

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"time"
)

// Receipt is for an enqueued item, or one that was there already.
type Receipt struct {
	// Key is the key that it has now; of a duplicate, that of the item that was there, where the queue's dedup names it.
	Key string
	// Duplicate is whether the same work was there already, by the queue's dedup, and nothing was added.
	Duplicate bool
}

// Tx is a *sql.Tx, or a *sql.Conn with a transaction that was begun by hand. Without one the call is a transaction of its own on
// PostgreSQL, and an error on SQL Server.
type Tx interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// PgxTx is a pgx.Tx, without this module having need of pgx.
type PgxTx[R PgxRows] interface {
	Query(ctx context.Context, query string, args ...any) (R, error)
}

// PgxRows are pgx.Rows.
type PgxRows interface {
	Next() bool
	Values() ([]any, error)
	Close()
	Err() error
}

// Option is an option of a call.
type Option func(*options)

type options struct {
	operation *string
}

// Operation is an identity for the call, a UUID: made again with it after the commit, the call adds nothing and returns the same
// keys. For when the answer to a commit is lost.
func Operation(id string) Option {
	return func(o *options) { o.operation = &id }
}

// EnqueueTx enqueues at most 1,000 items in the transaction: they are there when it commits, and workers wake then. An error of the
// database is the driver's own, as for any statement; on SQL Server it ends the transaction, on PostgreSQL it goes back to the last
// savepoint.
func EnqueueTx(ctx context.Context, tx Tx, queue Queue, items []Item, options ...Option) ([]Receipt, error) {
	call, args, err := prepared(queue, items, options)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, call, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var answer [][]any
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, places := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			places[i] = &values[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		answer = append(answer, values)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return receipts(answer)
}

// EnqueuePgx is EnqueueTx in a transaction of pgx.
func EnqueuePgx[R PgxRows](ctx context.Context, tx PgxTx[R], queue Queue, items []Item, options ...Option) ([]Receipt, error) {
	call, args, err := prepared(queue, items, options)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, call, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var answer [][]any
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		answer = append(answer, values)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return receipts(answer)
}

func prepared(queue Queue, items []Item, given []Option) (string, []any, error) {
	var all options
	for _, option := range given {
		option(&all)
	}
	call, err := queue.call()
	if err != nil {
		return "", nil, err
	}
	text, err := itemsJSON(items)
	if err != nil {
		return "", nil, err
	}
	var operation any
	if all.operation != nil {
		operation = *all.operation
	}
	return call, []any{text, operation}, nil
}

// receipts are those of the rows, whose first columns are answer, ordinal, due time and key on both servers.
func receipts(rows [][]any) ([]Receipt, error) {
	type placed struct {
		ordinal int64
		receipt Receipt
	}
	all := make([]placed, len(rows))
	for i, row := range rows {
		ordinal, is := number(row[1])
		if !is {
			return nil, fmt.Errorf("readpastdata: the server's answer has the ordinal %v", row[1])
		}
		all[i] = placed{ordinal, Receipt{Key: text(row[3]), Duplicate: text(row[0]) == "DUPLICATE"}}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ordinal < all[j].ordinal })
	out := make([]Receipt, len(all))
	for i, each := range all {
		out[i] = each.receipt
	}
	return out, nil
}

func number(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case int32:
		return int64(value), true
	default:
		return 0, false
	}
}

// text is a value as the library writes it: a time in UTC has seven digits of a second.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case time.Time:
		return value.UTC().Format("2006-01-02T15:04:05.0000000")
	case []byte:
		return string(value)
	default:
		return fmt.Sprint(value)
	}
}
