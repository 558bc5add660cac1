package capi

// #include "arrays.h"
import "C"

// Settlements are the arguments of readpast_queue_settle.
type Settlements struct {
	texts  Texts
	packed []C.struct_packed_settlement
}

// MakeSettlements has room for so many.
func MakeSettlements(count int) *Settlements {
	return &Settlements{packed: make([]C.struct_packed_settlement, 0, count+1)}
}

// Settlement is a readpast_settlement: nil, and an empty token, stand for NULL.
type Settlement struct {
	Key, Token                            string
	Attempt, Action                       int32
	Step, Response, Error, Due, Set, Then *string
	DelayMs                               int64
}

// Add appends one.
func (s *Settlements) Add(settlement *Settlement) {
	s.packed = append(s.packed, C.struct_packed_settlement{
		key:      s.texts.Add("a key", settlement.Key),
		token:    s.texts.Given("a token", settlement.Token),
		step:     s.texts.any(settlement.Step),
		response: s.texts.any(settlement.Response),
		error:    s.texts.any(settlement.Error),
		due:      s.texts.any(settlement.Due),
		set:      s.texts.any(settlement.Set),
		then:     s.texts.any(settlement.Then),
		delay_ms: C.int64_t(settlement.DelayMs),
		attempt:  C.int32_t(settlement.Attempt),
		action:   C.int32_t(settlement.Action),
	})
}

// Refs are the arguments of readpast_queue_renew: items by their keys.
type Refs struct {
	texts  Texts
	packed []C.struct_packed_ref
}

// Add appends one.
func (r *Refs) Add(key string, attempt int32) {
	r.packed = append(r.packed, C.struct_packed_ref{key: r.texts.Add("a key", key), attempt: C.int64_t(attempt)})
}

// Outcomes are readpast_outcomes.
type Outcomes []C.readpast_outcome

// At is the outcome of one item.
func (o Outcomes) At(index int) (answer, state int32, attempt int, token string) {
	outcome := &o[index]
	return int32(outcome.answer), int32(outcome.state), int(outcome.attempt), array(outcome.token[:])
}

// Settle is readpast_queue_settle, or readpast_queue_settle_and_claim if it claims; an empty operation is none. The
// status is that of the settlements.
func (q Queue) Settle(s *Settlements, operation string, claims bool, maxItems int32) (Outcomes, Claimed, *Failure) {
	identity := s.texts.Given("the operation", operation)
	if failure := s.texts.failure(); failure != nil {
		return nil, Claimed{}, failure
	}
	count := len(s.packed)
	packed := append(s.packed, C.struct_packed_settlement{})
	outcomes := make(Outcomes, count+1)
	result := C.queue_settle(C.uint64_t(q), start(&s.texts), &packed[0], C.int32_t(count), identity, C.bool(claims),
		C.int32_t(maxItems), &outcomes[0])
	batch, failure := claimed(result)
	return outcomes[:count], batch, failure
}

// Renew is readpast_queue_renew.
func (q Queue) Renew(leases *Refs) (Outcomes, *Failure) {
	if failure := leases.texts.failure(); failure != nil {
		return nil, failure
	}
	count := len(leases.packed)
	packed := append(leases.packed, C.struct_packed_ref{})
	outcomes := make(Outcomes, count+1)
	result := C.queue_renew(C.uint64_t(q), start(&leases.texts), &packed[0], C.int32_t(count), &outcomes[0])
	return outcomes[:count], failed(result)
}

// start is the first byte of the texts, also of none.
func start(texts *Texts) *C.char {
	if len(texts.bytes) == 0 {
		return nil
	}
	return texts.pointer(0)
}
