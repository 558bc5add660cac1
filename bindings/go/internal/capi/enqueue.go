package capi

// #include "arrays.h"
import "C"

// NewItems are the arguments of readpast_queue_enqueue.
type NewItems struct {
	texts  Texts
	packed []C.struct_packed_item
}

// NewItem is one of them; empty texts are none.
type NewItem struct {
	Type, Step                         string
	DelayMs                            int64
	Due, Columns                       string
	Traceparent, Tracestate            string
	After /* a JSON array */, OnFailed string
}

// Add appends one.
func (n *NewItems) Add(item NewItem) {
	n.packed = append(n.packed, C.struct_packed_item{
		_type:    n.texts.Given("a type", item.Type),
		step:     n.texts.Given("a step", item.Step),
		delay_ms: C.int64_t(item.DelayMs),
		due:      n.texts.Given("a due time", item.Due),
		columns:  n.texts.Given("the columns", item.Columns),

		traceparent: n.texts.OfTrace(item.Traceparent),
		tracestate:  n.texts.OfTrace(item.Tracestate),

		after:     n.texts.Given("the items to wait for", item.After),
		on_failed: n.texts.Given("a fate", item.OnFailed),
	})
}

// Receipt is a copy of a readpast_receipt.
type Receipt struct {
	Key, Token string
	Answer     int32
}

// receipts copies readpast_receipts, and frees them.
func receipts(handle C.uint64_t, count int) []Receipt {
	defer C.readpast_receipts_free(C.readpast_receipts{id: handle})
	lent, copied := make([]C.readpast_receipt, count), make([]Receipt, count)
	if count == 0 || C.receipts_all(handle, C.int32_t(count), &lent[0]) != C.READPAST_OK {
		return nil
	}
	for i := range lent {
		copied[i] = Receipt{C.GoString(lent[i].key), C.GoString(lent[i].token), int32(lent[i].answer)}
	}
	return copied
}

// Enqueue is readpast_queue_enqueue; an empty operation is none.
func (q Queue) Enqueue(n *NewItems, operation string) ([]Receipt, *Failure) {
	identity := n.texts.Given("the operation", operation)
	if failure := n.texts.failure(); failure != nil {
		return nil, failure
	}
	count := len(n.packed)
	packed := append(n.packed, C.struct_packed_item{})
	result := C.queue_enqueue(C.uint64_t(q), start(&n.texts), &packed[0], C.int32_t(count), identity)
	return receipts(result.made, int(result.count)), failed(result)
}
