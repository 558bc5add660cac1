package callers

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/readpast/readpast/bindings/go/readpastdata"
)

// An open transaction of a driver's.
type transaction struct {
	enqueue func([]readpastdata.Item, ...readpastdata.Option) ([]readpastdata.Receipt, error)
	commit  func() error
}

// The ways to begin one; each begins anew, on a connection of the test's.
func drivers(g given, queue readpastdata.Queue) map[string]func() transaction {
	db, err := sql.Open("pgx", "")
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = db.Close() })
	return map[string]func() transaction{
		"database/sql": func() transaction {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				g.Fatal(err)
			}
			return transaction{
				func(items []readpastdata.Item, options ...readpastdata.Option) ([]readpastdata.Receipt, error) {
					return readpastdata.EnqueueTx(ctx, tx, queue, items, options...)
				}, tx.Commit,
			}
		},
		"pgx": func() transaction {
			tx, err := g.connection.Begin(ctx)
			if err != nil {
				g.Fatal(err)
			}
			return transaction{
				func(items []readpastdata.Item, options ...readpastdata.Option) ([]readpastdata.Receipt, error) {
					return readpastdata.EnqueuePgx[pgx.Rows](ctx, tx, queue, items, options...)
				}, func() error { return tx.Commit(ctx) },
			}
		},
	}
}

func TestItemsAreThereWithTheCommit(t *testing.T) {
	each(t, func(g given) {
		queue := map[string]readpastdata.Queue{
			"transfer": readpastdata.Postgres("Transfer"), "notice": readpastdata.Postgres("Notice"),
		}[g.name]
		for name, begin := range drivers(g, queue) {
			work := func(n int) any { return fmt.Sprintf("%s, %d", name, n) }
			items := []readpastdata.Item{
				{Columns: readpastdata.Columns{"amount": 1, "work": work(1)}, Delay: 1},
				{Columns: map[string]any{"Amount": nil, "Work": work(2)}},
			}
			operation := readpastdata.Operation(fmt.Sprintf("00000000-0000-0000-0000-%012d", len(g.name+name)))
			var before []readpastdata.Receipt
			for range 2 {
				tx := begin()
				receipts, err := tx.enqueue(items, operation)
				if err != nil || len(receipts) != 2 || receipts[0].Duplicate || receipts[0].Key == receipts[1].Key {
					g.Fatal(receipts, err)
				}
				if before != nil && !reflect.DeepEqual(receipts, before) {
					g.Fatal("the repetition returns other keys", receipts, before)
				}
				if seen := g.count(work(1)); (before == nil) != (seen == 0) {
					g.Fatal(seen, "before the commit")
				}
				if err := tx.commit(); err != nil {
					g.Fatal(err)
				}
				before = receipts
			}
			tx := begin()
			again, err := tx.enqueue(items[1:])
			if wanted := (readpastdata.Receipt{Key: before[1].Key, Duplicate: true}); err != nil || again[0] != wanted {
				g.Fatal(again, err)
			}
			if err := tx.commit(); err != nil {
				g.Fatal(err)
			}
			if g.count(work(1)) != 1 || g.count(work(2)) != 1 {
				g.Fatal("items are there twice")
			}
			tx = begin()
			if _, err := tx.enqueue([]readpastdata.Item{{Columns: readpastdata.Columns{"amounts": 1}}}); err == nil {
				g.Fatal("an unknown column is taken")
			}
			_ = tx.commit()
		}
	})
}

// The items of this work, as another connection sees them.
func (g given) count(work any) int {
	table := map[string]string{"transfer": "readpast.transfer", "notice": "readpast.notices"}[g.name]
	other := connect(g.T)
	defer func() { _ = other.Close(context.Background()) }()
	var count int
	if err := other.QueryRow(ctx, "SELECT count(*) FROM "+table+" WHERE work = $1", work).Scan(&count); err != nil {
		g.Fatal(err)
	}
	return count
}
