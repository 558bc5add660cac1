package capi

// #include "arrays.h"
import "C"

// NewItems are the arguments of readpast_queue_enqueue.
type NewItems struct {
	texts  Texts
	packed []C.struct_packed_item
}

// Add appends one; empty texts are none.
func (n *NewItems) Add(itemType, step string, delayMs int64, due, columns string) {
	n.packed = append(n.packed, C.struct_packed_item{
		_type:    n.texts.Given("a type", itemType),
		step:     n.texts.Given("a step", step),
		delay_ms: C.int64_t(delayMs),
		due:      n.texts.Given("a due time", due),
		columns:  n.texts.Given("the columns", columns),
	})
}

// Receipts are readpast_receipts.
type Receipts []C.readpast_receipt

// At is the receipt of one item.
func (r Receipts) At(index int) (key, token string, answer int32) {
	receipt := &r[index]
	return array(receipt.key[:]), array(receipt.token[:]), int32(receipt.answer)
}

// Enqueue is readpast_queue_enqueue; an empty operation is none.
func (q Queue) Enqueue(n *NewItems, operation string) (Receipts, *Failure) {
	identity := n.texts.Given("the operation", operation)
	if failure := n.texts.failure(); failure != nil {
		return nil, failure
	}
	count := len(n.packed)
	packed := append(n.packed, C.struct_packed_item{})
	receipts := make(Receipts, count+1)
	result := C.queue_enqueue(C.uint64_t(q), start(&n.texts), &packed[0], C.int32_t(count), identity, &receipts[0])
	return receipts[:count], failed(result)
}
