package capi

// #include "arrays.h"
import "C"

import (
	"strings"
	"unsafe"
)

// Texts collects the texts of a call, as C wants it: one text ending in NUL after the other. A text that holds a NUL
// itself cannot be passed; the first such is remembered, and the call not made.
type Texts struct {
	bytes []byte
	wrong string
}

// Add gives the place of a text, of which a person would know the name.
func (t *Texts) Add(name, text string) C.int64_t {
	if strings.IndexByte(text, 0) >= 0 && t.wrong == "" {
		t.wrong = name
	}
	place := len(t.bytes)
	t.bytes = append(append(t.bytes, text...), 0)
	return C.int64_t(place)
}

// Given is Add, but for the empty text, which stands for none.
func (t *Texts) Given(name, text string) C.int64_t {
	if text == "" {
		return -1
	}
	return t.Add(name, text)
}

// OfTrace is Given for a part of a trace's context. A malformed part is left out, and so is one that cannot be passed.
func (t *Texts) OfTrace(text string) C.int64_t {
	if strings.IndexByte(text, 0) >= 0 {
		return -1
	}
	return t.Given("", text)
}

// any is the place of a text that may hold anything, for the library to judge; nil stands for none.
func (t *Texts) any(text *string) C.struct_any_text {
	if text == nil {
		return C.struct_any_text{at: -1}
	}
	place := len(t.bytes)
	t.bytes = append(append(t.bytes, *text...), 0)
	return C.struct_any_text{at: C.text_place(place), length: C.size_t(len(*text))}
}

func (t *Texts) failure() *Failure {
	if t.wrong == "" {
		return nil
	}
	return &Failure{Status: C.READPAST_INVALID_ARGUMENT, Message: t.wrong + " holds a NUL, which no text may"}
}

// pointer is to the text at a place, once all are added: for the length of a call.
func (t *Texts) pointer(place C.int64_t) *C.char {
	if place < 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&t.bytes[place]))
}

// array copies the text in an array of characters, which ends with the first NUL.
func array(characters []C.char) string {
	return C.GoString(&characters[0])
}
