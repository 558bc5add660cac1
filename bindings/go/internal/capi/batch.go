package capi

// #include "batch.h"
import "C"

import "unsafe"

// Batch is a readpast_batch.
type Batch uint64

// Claimed is what a call that claims or finds came to.
type Claimed struct {
	Status int32
	Batch  Batch
	Count  int
}

func claimed(result C.struct_result) (Claimed, *Failure) {
	return Claimed{int32(result.status), Batch(result.made), int(result.count)}, failed(result)
}

// BatchFromJSON is readpast_batch_from_json; an empty description is none.
func BatchFromJSON(items, spec string) (Claimed, *Failure) {
	if failure := Check(); failure != nil {
		return Claimed{}, failure
	}
	var texts Texts
	given, described := texts.Add("the items", items), texts.Given("the description of the queue", spec)
	if failure := texts.failure(); failure != nil {
		return Claimed{}, failure
	}
	return claimed(C.batch_from_json(texts.pointer(given), texts.pointer(described)))
}

// Items are the items of a batch, lent by it.
type Items []C.readpast_item

// Items asks for all of them at once.
func (b Batch) Items(count int) Items {
	items := make(Items, count)
	if count == 0 || C.batch_items(C.uint64_t(b), C.int32_t(count), &items[0]) != C.READPAST_OK {
		return nil
	}
	return items
}

// At copies what an item says.
func (items Items) At(index int) (key, token string, attempt int) {
	item := &items[index]
	return C.GoString(item.key), C.GoString(item.token), int(item.attempt)
}

// Life is the life cycle of an item, whatever its columns are called; empty texts are NULL.
type Life struct {
	Type, Step, Due, Enqueued, LeaseUntil string
	State                                 int32
}

// Life copies what readpast_batch_item says of it.
func (b Batch) Life(index int) Life {
	item := C.readpast_item{struct_size: C.sizeof_readpast_item}
	if C.readpast_batch_item(b.native(), C.int32_t(index), &item, nil) != C.READPAST_OK {
		return Life{}
	}
	return Life{
		C.GoString(item._type), C.GoString(item.step), C.GoString(item.due), C.GoString(item.enqueued),
		C.GoString(item.lease_until), int32(item.state),
	}
}

// ValueOf is readpast_batch_value_by_name, for one of the names that a column has besides its own.
func (b Batch) ValueOf(index int, column string) (Value, bool) {
	var texts Texts
	name := texts.Add("the name of a column", column)
	if texts.failure() != nil {
		return Value{}, false
	}
	values := Values{{struct_size: C.sizeof_readpast_value}}
	if C.readpast_batch_value_by_name(b.native(), C.int32_t(index), texts.pointer(name), &values[0], nil) != C.READPAST_OK {
		return Value{}, false
	}
	return values.At(0), true
}

// JSON is readpast_batch_json; nil when there is no such item.
func (b Batch) JSON(index int) []byte {
	text := C.readpast_batch_json(b.native(), C.int32_t(index))
	if text == nil {
		return nil
	}
	return []byte(C.GoString(text))
}

// Trace is readpast_batch_traceparent and readpast_batch_tracestate.
func (b Batch) Trace(index int) Trace {
	return Trace{
		Parent: C.GoString(C.readpast_batch_traceparent(b.native(), C.int32_t(index))),
		State:  C.GoString(C.readpast_batch_tracestate(b.native(), C.int32_t(index))),
	}
}

// Columns passes each column on, one after the other.
func (b Batch) Columns(each func(name string, columnType int32)) {
	columns := make([]C.readpast_column, C.readpast_batch_column_count(b.native()))
	if len(columns) == 0 || C.batch_columns(C.uint64_t(b), C.int32_t(len(columns)), &columns[0]) != C.READPAST_OK {
		return
	}
	for i := range columns {
		each(C.GoString(columns[i].name), int32(columns[i]._type))
	}
}

// Values are the values of one column, lent by the batch.
type Values []C.readpast_value

// Values asks for those of all items at once.
func (b Batch) Values(column, count int) Values {
	values := make(Values, count)
	if count == 0 || C.batch_values(C.uint64_t(b), C.int32_t(column), C.int32_t(count), &values[0]) != C.READPAST_OK {
		return nil
	}
	return values
}

// Value is a copy of a value. The type decides which member holds it.
type Value struct {
	Type   int32
	Null   bool
	Whole  int64
	Number float64
	Text   string
	Bytes  []byte
}

// At copies a value.
func (values Values) At(index int) Value {
	value := &values[index]
	read := Value{
		Type:   int32(value._type),
		Null:   value.is_null != 0,
		Whole:  int64(value.integer),
		Number: float64(value.number),
	}
	if value.text != nil {
		read.Text = string(unsafe.Slice((*byte)(unsafe.Pointer(value.text)), value.length))
	}
	if value.bytes != nil {
		read.Bytes = append([]byte{}, unsafe.Slice((*byte)(unsafe.Pointer(value.bytes)), value.length)...)
	}
	return read
}

// Free is readpast_batch_free.
func (b Batch) Free() {
	C.readpast_batch_free(b.native())
}

func (b Batch) native() C.readpast_batch {
	return C.readpast_batch{id: C.uint64_t(b)}
}

// Trace says where in a distributed trace something was done.
type Trace struct{ Parent, State string }
