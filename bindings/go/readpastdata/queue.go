// Package readpastdata enqueues items of readpast's queues in the caller's own transaction, over the caller's own driver: an order
// and the mail about it are there together, or neither is. It is pure Go, without cgo, and needs no other module. Workers use
// package readpast, which has the native library.
package readpastdata

import (
	"fmt"
	"regexp"
	"strings"
)

// Queue is the place of a queue. The zero value is none; see [Postgres] and [SQLServer].
type Queue struct {
	schema, name string
	sqlServer    bool
}

// Postgres is a queue on PostgreSQL in the schema readpast.
func Postgres(name string) Queue {
	return Queue{schema: "readpast", name: name}
}

// SQLServer is a queue on SQL Server in the schema readpast.
func SQLServer(name string) Queue {
	return Queue{schema: "readpast", name: name, sqlServer: true}
}

// InSchema is the queue of the same name in another schema.
func (q Queue) InSchema(schema string) Queue {
	q.schema = schema
	return q
}

// String is schema and name.
func (q Queue) String() string {
	return q.schema + "." + q.name
}

// call is the statement that enqueues: items and operation are its parameters, and answer, ordinal and key the first columns.
func (q Queue) call() (string, error) {
	for _, name := range []string{q.schema, q.name} {
		if name == "" || strings.ContainsRune(name, 0) {
			return "", fmt.Errorf("readpastdata: %q is no name of a queue and its schema", q)
		}
	}
	if q.sqlServer {
		procedure := quoted(q.schema, "[", "]") + "." + quoted("Add_"+q.name+"_Set_utx", "[", "]")
		return "EXECUTE " + procedure + " @Items = @p1, @Operation = @p2", nil
	}
	function := quoted(q.schema, `"`, `"`) + "." + quoted("add_"+snakeCase(q.name)+"_set_utx", `"`, `"`)
	return "SELECT answer, answer_ordinal, answer_due_ms, answer_key FROM " + function + "($1::text::json, $2::text::uuid)", nil
}

func quoted(name, begin, end string) string {
	return begin + strings.ReplaceAll(name, end, end+end) + end
}

var (
	wordAfterLower   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	wordAfterAcronym = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// snakeCase is how the library names functions: PasswordReset is password_reset, SMSOut sms_out.
func snakeCase(name string) string {
	apart := wordAfterAcronym.ReplaceAllString(name, "${1}_${2}")
	return strings.ToLower(wordAfterLower.ReplaceAllString(apart, "${1}_${2}"))
}
