// Package callers holds the caller's own transaction over pgx. The server is that of PGHOST and so on, with the queues of the
// folder above.
package callers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const worker = "me"

var (
	ctx    = context.Background()
	states = map[string]string{
		"transfer": "SELECT status FROM readpast.transfer ORDER BY 1",
		"notice":   "SELECT item_status FROM readpast.worker_notice_v ORDER BY 1",
	}
)

// A runner of queries: a connection, or a transaction.
type runner interface {
	Query(ctx context.Context, query string, values ...any) (pgx.Rows, error)
}

// A queue, with somebody's account beside it, and what is called in the tests.
type given struct {
	*testing.T
	name       string
	connection *pgx.Conn
}

// The queue's item, as the set procedures take it.
type item struct {
	Key     string `json:"key"`
	Token   string `json:"token"`
	Attempt int    `json:"attempt"`
	Status  string `json:"status"`
	Error   string `json:"error,omitempty"`
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// Runs a test on each kind of table, emptied before.
func each(t *testing.T, test func(given)) {
	for name := range states {
		t.Run(name, func(t *testing.T) {
			g := given{t, name, connect(t)}
			defer g.connection.Close(ctx)
			_, err := g.connection.Exec(ctx, `DROP TABLE IF EXISTS account;
				CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL);
				INSERT INTO account VALUES (1, 100);
				DELETE FROM readpast.transfer;
				DELETE FROM readpast.notices`)
			g.must(err)
			test(g)
		})
	}
}

func (g given) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// The first column.
func (g given) all(on runner, query string, values ...any) []string {
	g.Helper()
	rows, err := on.Query(ctx, query, values...)
	g.must(err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	g.must(err)
	return found
}

func (g given) put(on runner, work string) {
	g.Helper()
	g.all(on, fmt.Sprintf("SELECT 'put' FROM readpast.add_%s_utx(amount_ => 10, work_ => $1)", g.name), work)
}

func (g given) claim() item {
	g.Helper()
	query := "SELECT answer_key::text, answer_token::text, answer_attempt FROM readpast.next_%s_set_trx($1, 1)"
	taken := item{Status: "Completed"}
	row := g.connection.QueryRow(ctx, fmt.Sprintf(query, g.name), worker)
	g.must(row.Scan(&taken.Key, &taken.Token, &taken.Attempt))
	return taken
}

func (g given) pay(on runner) {
	g.Helper()
	g.all(on, "UPDATE account SET balance = balance - 10 WHERE id = 1 RETURNING 'paid'")
}

// One item.
func (g given) settle(on runner, taken item, want string) {
	g.Helper()
	// The key of the one is a time, that of the other a text.
	key := map[string]string{"transfer": "$1::text::timestamptz", "notice": "$1"}[g.name]
	query := fmt.Sprintf(`SELECT answer FROM readpast.modify_%s_utx(%s, $2::text::timestamptz, $3, worker_ => $4,
		attempt_num_ => $5)`, g.name, key)
	g.same(g.all(on, query, taken.Key, taken.Token, taken.Status, worker, taken.Attempt), []string{want})
}

func (g given) settleSet(on runner, operation any, items []item, want ...string) {
	g.Helper()
	query := fmt.Sprintf("SELECT answer FROM readpast.modify_%s_set_utx($1, $2, $3) ORDER BY answer_ordinal", g.name)
	g.same(g.all(on, query, operation, worker, items), want)
}

func (g given) addSet(on runner, operation any, works []string, want ...string) {
	g.Helper()
	items := []any{}
	for _, work := range works {
		items = append(items, map[string]any{"columns": map[string]any{"amount": 10, "work": work}})
	}
	query := fmt.Sprintf("SELECT answer FROM readpast.add_%s_set_utx($1, $2) ORDER BY answer_ordinal", g.name)
	g.same(g.all(on, query, items, operation), want)
}

func (g given) isDone(operation string, want bool) {
	g.Helper()
	answer := g.all(g.connection, "SELECT answer FROM readpast.queue_is_done($1)", operation)
	g.same(answer[0] == "OK", want)
}

func (g given) same(found, want any) {
	g.Helper()
	if !reflect.DeepEqual(found, want) {
		g.Fatalf("%v, not %v", found, want)
	}
}

// The balance, and the states of all items: as another connection sees them.
func (g given) everything(balance string, want ...string) {
	g.Helper()
	other := connect(g.T)
	defer other.Close(ctx)
	g.same(g.all(other, "SELECT balance::text FROM account"), []string{balance})
	g.same(g.all(other, states[g.name]), want)
}

var errMind = errors.New("changed my mind")

func TestAllOfItIsDoneWithTheCommit(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		g.must(pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			g.settle(tx, taken, "OK")
			g.put(tx, "b")
			g.addSet(tx, nil, []string{"c", "d"}, "OK", "OK")
			g.everything("100", "Processing")
			return nil
		}))
		g.everything("90", "Completed", "Pending", "Pending", "Pending")
	})
}

func TestNothingOfItIsDoneWithARollback(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		err := pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			g.settleSet(tx, nil, []item{taken}, "OK")
			g.put(tx, "b")
			return errMind
		})
		g.same(err, errMind)
		g.everything("100", "Processing")
		g.settle(g.connection, taken, "OK")
	})
}

func TestASavepointUndoesWhatCameAfterIt(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		g.must(pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				g.settle(inner, taken, "OK")
				g.addSet(inner, nil, []string{"b"}, "OK")
				return errMind
			})
			g.same(err, errMind)
			later := taken
			later.Status, later.Error = "Error", "later"
			g.settleSet(tx, nil, []item{later}, "OK")
			return nil
		}))
		g.everything("90", "Error")
	})
}

func TestARefusalIsAnAnswerAndEndsNothing(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		old, other, unheard := taken, taken, taken
		old.Token, other.Attempt, unheard.Status = "2020-01-01T00:00:00Z", 7, "Unheard"
		g.must(pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			g.settle(tx, old, "CONFLICT")
			g.settleSet(tx, nil, []item{other}, "LEASE_LOST")
			g.settleSet(tx, nil, []item{unheard}, "ILLEGAL_TRANSITION")
			g.addSet(tx, nil, []string{"a", "b", "b"}, "DUPLICATE", "OK", "DUPLICATE")
			g.settle(tx, taken, "OK")
			return nil
		}))
		g.everything("90", "Completed", "Pending")
	})
}

func TestAnErrorInBetweenUndoesUpToTheSavepoint(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		g.must(pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			for query, code := range map[string]string{
				"SELECT 1 / 0": "22012",
				fmt.Sprintf("SELECT readpast.modify_%s_set_utx(NULL, 'me', '[]', 5000)", g.name): "RP021",
			} {
				err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
					g.settle(inner, taken, "OK")
					g.put(inner, "b")
					_, err := inner.Exec(ctx, query)
					return err
				})
				var refused *pgconn.PgError
				g.same(errors.As(err, &refused) && refused.Code == code, true)
			}
			taken.Status = "Error"
			g.settle(tx, taken, "OK")
			return nil
		}))
		g.everything("90", "Error")
	})
}

func TestAnErrorInBetweenUndoesAllWhereThereIsNoSavepoint(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		err := pgx.BeginFunc(ctx, g.connection, func(tx pgx.Tx) error {
			g.pay(tx)
			g.settle(tx, taken, "OK")
			g.put(tx, "b")
			// Not heeded: the transaction is over all the same.
			_, _ = tx.Exec(ctx, "SELECT 1 / 0")
			return nil
		})
		g.same(errors.Is(err, pgx.ErrTxCommitRollback), true)
		g.everything("100", "Processing")
		g.settle(g.connection, taken, "OK")
	})
}

// The part of the next test that is another process: it never commits.
func TestCrashes(t *testing.T) {
	text := os.Getenv("READPAST_CALLERS_ITEM")
	if text == "" {
		t.Skip("no test by itself")
	}
	g := given{t, os.Getenv("READPAST_CALLERS_QUEUE"), connect(t)}
	var taken item
	g.must(json.Unmarshal([]byte(text), &taken))
	tx, err := g.connection.Begin(ctx)
	g.must(err)
	g.pay(tx)
	g.put(tx, "b")
	g.settle(tx, taken, "OK")
	fmt.Println("settled")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestACrashBeforeTheCommitLeavesNothing(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		text, err := json.Marshal(taken)
		g.must(err)
		command := exec.Command(os.Args[0], "-test.run=^TestCrashes$")
		command.Env = append(os.Environ(), "READPAST_CALLERS_QUEUE="+g.name, "READPAST_CALLERS_ITEM="+string(text))
		// Held open, so that it waits for what never comes.
		_, err = command.StdinPipe()
		g.must(err)
		output, err := command.StdoutPipe()
		g.must(err)
		g.must(command.Start())
		line, err := bufio.NewReader(output).ReadString('\n')
		g.must(err)
		g.same(line, "settled\n")
		g.must(command.Process.Kill())
		_ = command.Wait()
		// Waits for the row until the server has noticed.
		g.settle(g.connection, taken, "OK")
		g.everything("100", "Completed")
	})
}

func TestAnOperationShowsWhetherTheCommitHasHappened(t *testing.T) {
	each(t, func(g given) {
		g.put(g.connection, "a")
		taken := g.claim()
		ids := g.all(g.connection, "SELECT gen_random_uuid()::text FROM generate_series(1, 2)")
		work := func(isCut bool) error {
			connection := connect(g.T)
			defer connection.Close(ctx)
			return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
				g.settleSet(tx, ids[0], []item{taken}, "OK")
				g.addSet(tx, ids[1], []string{"b"}, "OK")
				if isCut {
					g.all(g.connection, "SELECT pg_terminate_backend($1)::text", connection.PgConn().PID())
				}
				return nil
			})
		}
		if work(true) == nil {
			g.Fatal("the commit was to fail")
		}
		g.isDone(ids[0], false)
		g.isDone(ids[1], false)
		// The second time nothing is changed, and the answers are the same.
		for range []int{1, 2} {
			g.must(work(false))
			g.isDone(ids[0], true)
			g.isDone(ids[1], true)
		}
		g.everything("100", "Completed", "Pending")
	})
}

func TestTheLinesOnThePageWork(t *testing.T) {
	each(t, func(g given) {
		g.name = "transfer"
		g.same(transfer(ctx, g.connection, worker), pgx.ErrNoRows)
		g.put(g.connection, "a")
		g.must(transfer(ctx, g.connection, worker))
		g.everything("90", "Completed")
		g.same(g.all(g.connection, "SELECT amount::text FROM readpast.notices"), []string{"10"})
	})
}

func TestTheLinesOnThePageUndoTheWorkOnAnItemThatWasLost(t *testing.T) {
	each(t, func(g given) {
		g.name = "transfer"
		g.put(g.connection, "a")
		other := connect(t)
		defer other.Close(ctx)
		holder, err := other.Begin(ctx)
		g.must(err)
		g.all(holder, "SELECT 'held' FROM account FOR UPDATE")
		one := connect(t)
		defer one.Close(ctx)
		pid, done := one.PgConn().PID(), make(chan error)
		go func() { done <- transfer(ctx, one, worker) }()
		// It is at its work: an operator cancels the item under its hands.
		waits := "SELECT COUNT(*)::text FROM pg_locks WHERE NOT granted AND pid = $1"
		for begun := time.Now(); g.all(g.connection, waits, pid)[0] == "0"; {
			g.same(time.Since(begun) < 10*time.Minute, true)
		}
		g.all(g.connection, `SELECT t.answer FROM readpast.transfer AS q, LATERAL (SELECT 'OK' AS answer FROM
			readpast.modify_transfer_trx(q.enqueued_at, q.updated_at, 'Cancelled')) AS t`)
		g.must(holder.Rollback(ctx))
		g.same(<-done, errLost)
		g.everything("100", "Cancelled")
		g.same(g.all(g.connection, "SELECT id::text FROM readpast.notices"), []string{})
	})
}
