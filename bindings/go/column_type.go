package readpast

// #include <readpast.h>
import "C"

import "fmt"

// ColumnType is what a column holds.
type ColumnType int32

const (
	// True or false: [Value.Bool].
	TypeBoolean ColumnType = C.READPAST_TYPE_BOOLEAN
	// A whole number of up to 64 bits: [Value.Int64].
	TypeInteger ColumnType = C.READPAST_TYPE_INTEGER
	// A binary floating point number: [Value.Float64].
	TypeFloat ColumnType = C.READPAST_TYPE_FLOAT
	// An exact decimal number: [Value.Text], like -12.50.
	TypeDecimal ColumnType = C.READPAST_TYPE_DECIMAL
	// Text: [Value.Text].
	TypeText ColumnType = C.READPAST_TYPE_TEXT
	// Bytes: [Value.Bytes].
	TypeBinary ColumnType = C.READPAST_TYPE_BINARY
	// A date and time in UTC: [Value.Time], or [Value.Text], like 2026-11-21T08:30:00.1234567.
	TypeTimestamp ColumnType = C.READPAST_TYPE_TIMESTAMP
	// A date: [Value.Time], or [Value.Text], like 2026-11-21.
	TypeDate ColumnType = C.READPAST_TYPE_DATE
	// A GUID: [Value.Text].
	TypeGUID ColumnType = C.READPAST_TYPE_GUID
	// A JSON document: [Value.JSON], or [Value.Text], as it is stored. Other programs may write no JSON there.
	TypeJSON ColumnType = C.READPAST_TYPE_JSON
)

var typeNames = map[ColumnType]string{
	TypeBoolean:   "Boolean",
	TypeInteger:   "Integer",
	TypeFloat:     "Float",
	TypeDecimal:   "Decimal",
	TypeText:      "Text",
	TypeBinary:    "Binary",
	TypeTimestamp: "Timestamp",
	TypeDate:      "Date",
	TypeGUID:      "GUID",
	TypeJSON:      "JSON",
}

// String is the name of the constant, without what they all begin with: "Integer".
func (c ColumnType) String() string {
	if name, known := typeNames[c]; known {
		return name
	}
	return fmt.Sprintf("ColumnType(%d)", int32(c))
}
