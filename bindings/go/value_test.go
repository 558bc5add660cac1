package readpast_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// through enqueues an item with a value, and claims it.
func through(t *testing.T, queue *readpast.Queue, column string, value any) *readpast.Item {
	t.Helper()
	must(queue.Enqueue(ctx, readpast.NewItem{Columns: readpast.Columns{column: value}}))(t)
	batch := must(queue.Claim(ctx, 1, 0))(t)
	t.Cleanup(func() { batch.Close() })
	equal(t, must(queue.Settle(ctx, batch.Item(0).Complete()))(t).Status(), readpast.StatusOK)
	return batch.Item(0)
}

func TestTextStaysAsItIs(t *testing.T) {
	queue := open(t)
	for _, text := range []string{
		"", "plain", "Grüße, 世界, 😀, \u0301 \u200D \uFFFD \uFEFF",
		"\u0001\u001f\t\r\n\"\\/\u007f\u0085\u2028 <&>",
		strings.Repeat("😀", 256*1024),
	} {
		equal(t, must(through(t, queue, "Payload", text).Value("Payload").Text())(t), text)
	}
}

func TestNumbersKeepAllBits(t *testing.T) {
	queue := open(t)
	for _, number := range []int64{-1 << 63, -1, 1<<63 - 1} {
		equal(t, must(through(t, queue, "Big", number).Value("Big").Int64())(t), number)
	}
	for _, number := range []float64{0.1, -1.7976931348623157e308, 5e-324} {
		equal(t, must(through(t, queue, "Ratio", number).Value("Ratio").Float64())(t), number)
	}
	for _, truth := range []bool{true, false} {
		equal(t, must(through(t, queue, "Flag", truth).Value("Flag").Bool())(t), truth)
	}
}

func TestDecimalsAreExact(t *testing.T) {
	const digits = "-1234567890123456789012345678.0123456789"
	queue := open(t)
	equal(t, must(through(t, queue, "Amount", digits).Value("Amount").Text())(t), digits)
	equal(t, through(t, queue, "Amount", -12.5).Value("Amount").String(), "-12.5000000000")
}

func TestTimesAreUTC(t *testing.T) {
	queue := open(t)
	moment := time.Date(2026, 11, 21, 8, 30, 0, 123456000, time.UTC)
	for _, elsewhere := range []*time.Location{time.UTC, time.FixedZone("far", 14*60*60)} {
		read := must(through(t, queue, "At", moment.In(elsewhere)).Value("At").Time())(t)
		equal(t, read, moment)
		equal(t, read.Location(), time.UTC)
	}
	day := through(t, queue, "Day", "2024-02-29").Value("Day")
	equal(t, must(day.Time())(t), time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
	equal(t, must(day.Text())(t), "2024-02-29")
}

func TestNullIsNotEmptyAndNotZero(t *testing.T) {
	queue := open(t)
	nothing := through(t, queue, "Payload", nil)
	for _, column := range []string{"Payload", "Big", "Flag", "Ratio", "Amount", "At", "Day", "Id", "Document"} {
		value := nothing.Value(column)
		equal(t, value.IsNull(), true)
		equal(t, value.Any(), any(nil))
		equal(t, value.String(), "NULL")
		check(t, value.Err())
	}
	_, err := nothing.Value("Payload").Text()
	if !errors.Is(err, readpast.ErrNull) || !strings.Contains(err.Error(), "Payload") {
		t.Fatal(err)
	}
	equal(t, through(t, queue, "Payload", "").Value("Payload").IsNull(), false)
	equal(t, through(t, queue, "Payload", []byte(nil)).Value("Payload").IsNull(), true)
}

func TestNothingIsTakenForSomethingElse(t *testing.T) {
	item := through(t, open(t), "Big", 1)
	big := item.Value("bIG") // the case of a column's name does not matter
	equal(t, big.Any(), any(int64(1)))
	for name, err := range map[string]error{
		"Text":    second(big.Text()),
		"Bool":    second(big.Bool()),
		"Float64": second(big.Float64()),
		"Bytes":   second(big.Bytes()),
		"Time":    second(big.Time()),
	} {
		if !errors.Is(err, readpast.ErrType) || !strings.Contains(err.Error(), "Integer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	bigger := item.Value("Bigger")
	for _, err := range []error{bigger.Err(), second(bigger.Int64())} {
		if !errors.Is(err, readpast.StatusNotFound) || !strings.Contains(err.Error(), "Bigger") {
			t.Error(err)
		}
	}
	equal(t, bigger.IsNull(), false)
}

func second[T any](_ T, err error) error {
	return err
}

func TestAnyIsOfTheColumnsType(t *testing.T) {
	queue := open(t)
	const guid = "0d6b6a52-8f9d-4c44-b044-08b98257037c"
	moment := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)
	for column, value := range map[string]any{
		"Payload": "text", "Big": int64(7), "Flag": true, "Ratio": 0.5, "At": moment,
	} {
		equal(t, through(t, queue, column, value).Value(column).Any(), value)
	}
	equal(t, through(t, queue, "Amount", 1).Value("Amount").Any(), any("1.0000000000"))
	equal(t, strings.ToLower(through(t, queue, "Id", guid).Value("Id").String()), guid)
}

func TestAnItemIsJSON(t *testing.T) {
	item := through(t, open(t), "Payload", "ä\"")
	var decoded struct {
		Payload string
		Amount  *string
	}
	check(t, item.Decode(&decoded))
	equal(t, decoded.Payload, "ä\"")
	equal(t, decoded.Amount, nil)
	marshalled := must(json.Marshal(item))(t)
	if text := string(marshalled); !strings.Contains(text, `"Amount":null`) || text != item.String() {
		t.Error(text)
	}
}

func TestBytes(t *testing.T) {
	server := startPsql(t)
	server.ask(`DROP TABLE IF EXISTS readpast_go.letter CASCADE; CREATE TABLE readpast_go.letter (
		enqueued_at timestamp PRIMARY KEY, type text NOT NULL DEFAULT 'Default', status text NOT NULL DEFAULT 'Pending',
		step text, attempt_num integer NOT NULL DEFAULT 0, response text, error text, scheduled_for timestamp,
		updated_at timestamp NOT NULL DEFAULT now(), photo bytea);
		CREATE VIEW readpast_go.letter_v AS SELECT * FROM readpast_go.letter;
		CREATE OR REPLACE FUNCTION readpast_go.next_letter_trx()
		RETURNS TABLE (enqueued_at timestamp, updated_at timestamp) LANGUAGE sql AS
		'UPDATE readpast_go.letter SET status = ''Processing'', attempt_num = 1 WHERE letter.status = ''Pending''
		RETURNING letter.enqueued_at, letter.updated_at';
		CREATE OR REPLACE FUNCTION readpast_go.modify_letter_trx(
			enqueued_at_ timestamp, updated_at_ timestamp, status_ text)
		RETURNS SETOF readpast_go.letter_v LANGUAGE sql AS 'SELECT * FROM readpast_go.letter_v';
		INSERT INTO readpast_go.letter (enqueued_at, photo) VALUES ('2026-01-01', '\x00ff10'); SELECT 1`)
	check(t, readpast.Install(ctx, settings(), `{"queue": "Letter", "procedures": {"schema": "readpast_go",
		"next": "next_letter_trx", "modify": "modify_letter_trx", "view": "letter_v", "key": "enqueued_at",
		"token": "updated_at"}}`))
	batch := must(openNamed(t, "Letter").Claim(ctx, 1, 0))(t)
	photo := batch.Item(0).Value("photo")
	bytes := must(photo.Bytes())(t)
	check(t, batch.Close())
	equal(t, string(bytes), "\x00\xff\x10")
	equal(t, string(photo.Any().([]byte)), "\x00\xff\x10")
}
