package readpastdata

import (
	"strings"
	"testing"
	"time"
)

func TestNamesAreThoseOfTheLibrary(t *testing.T) {
	for name, snake := range map[string]string{
		"Mail": "mail", "PasswordReset": "password_reset", "SMSOut": "sms_out", "Q2Out": "q2_out", "ABTest": "ab_test",
	} {
		if found := snakeCase(name); found != snake {
			t.Errorf("%s is %s, not %s", name, found, snake)
		}
	}
	for _, each := range []struct {
		queue Queue
		call  string
	}{
		{SQLServer("Mail").InSchema("a]b"), "EXECUTE [a]]b].[Add_Mail_Set_utx] @Items = @p1, @Operation = @p2"},
		{Postgres("Mail").InSchema(`a"b`), `"a""b"."add_mail_set_utx"($1::text::json, $2::text::uuid)`},
	} {
		if call, err := each.queue.call(); err != nil || !strings.HasSuffix(call, each.call) {
			t.Errorf("%v: %q, %v", each.queue, call, err)
		}
	}
	for _, wrong := range []Queue{{}, Postgres(""), Postgres("Mail").InSchema("a\x00")} {
		if _, err := wrong.call(); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}

func TestValuesAreWrittenAsTheProceduresTakeThem(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 123456789, time.FixedZone("", 3600))
	text, err := itemsJSON([]Item{
		{Columns: Columns{"at": at, "raw": []byte{255}}, Type: "A", Step: "s", Delay: time.Microsecond},
		{Columns: struct{ N int }{7}, Due: at},
		{},
	})
	const wanted = `[{"type":"A","step":"s","delay_ms":1,"columns":{"at":"2026-11-21T08:30:00.1234567Z","raw":"/w=="}},` +
		`{"due":"2026-11-21T08:30:00.1234567Z","columns":{"N":7}},{"columns":{}}]`
	if err != nil || text != wanted {
		t.Errorf("%s, %v", text, err)
	}
	for _, wrong := range []Item{{Delay: -1}, {Columns: Columns{"s": "\xff"}}, {Columns: make(chan int)}} {
		if _, err := itemsJSON([]Item{wrong}); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}
