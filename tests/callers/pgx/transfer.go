package callers

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	claim = `SELECT answer_key, answer_token, answer_attempt, amount
		FROM readpast.next_transfer_set_trx($1, 1) WHERE answer_key IS NOT NULL`
	settle = `SELECT answer FROM readpast.modify_transfer_utx($1, $2, 'Completed', worker_ => $3, attempt_num_ => $4)`
)

var errLost = errors.New("somebody else has the item now")

// transfer returns pgx.ErrNoRows where no item is due, and errLost where its work was undone.
func transfer(ctx context.Context, connection *pgx.Conn, worker string) error {
	var key, token time.Time
	var attempt, amount int
	err := connection.QueryRow(ctx, claim, worker).Scan(&key, &token, &attempt, &amount)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance - $1 WHERE id = 1", amount); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT readpast.add_notice_utx(amount_ => $1)", amount); err != nil {
			return err
		}
		var answer string
		if err := tx.QueryRow(ctx, settle, key, token, worker, attempt).Scan(&answer); err != nil {
			return err
		}
		if answer != "OK" {
			return errLost
		}
		return nil
	})
}
