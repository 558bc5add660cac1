package readpast

import (
	"runtime"
	"strings"
	"sync"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// lent is what the library lends to a batch. It is read under the mutex, so that no other goroutine frees it meanwhile. It
// is a thing of its own, since the collector never finishes with what points to itself, as a batch does through its items.
type lent struct {
	count int

	mutex  sync.Mutex
	handle capi.Batch // 0 when it was freed
	all    []Column
	// values are read for a whole column at once, when the first of them is asked for.
	values []capi.Values
}

func newLent(claimed capi.Claimed) *lent {
	made := &lent{count: claimed.Count, handle: claimed.Batch}
	if made.handle != 0 {
		runtime.SetFinalizer(made, (*lent).free)
	}
	return made
}

func (l *lent) free() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle != 0 {
		runtime.SetFinalizer(l, nil)
		l.handle.Free()
	}
	l.handle, l.all, l.values = 0, nil, nil
}

func (l *lent) items(each func(index int, key, token string, attempt int)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	items := l.handle.Items(l.count)
	for i := range items {
		key, token, attempt := items.At(i)
		each(i, key, token, attempt)
	}
}

func (l *lent) columns() []Column {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]Column(nil), l.known()...)
}

// value copies one value.
func (l *lent) value(index int, column string) Value {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == 0 {
		return Value{column: column, err: closed("batch")}
	}
	if i := l.place(column); i >= 0 {
		if l.values[i] == nil {
			l.values[i] = l.handle.Values(i, l.count)
		}
		return Value{column: l.all[i].Name, value: l.values[i].At(index)}
	}
	if value, found := l.handle.ValueOf(index, column); found {
		return Value{column: column, value: value}
	}
	return Value{column: column, err: &Error{
		Status: StatusNotFound, Message: `the items have no column "` + column + `"`,
	}}
}

// place is where a column is: the one of this name, or else the only one whose name differs in case alone; -1 when there
// is none. The mutex is held.
func (l *lent) place(column string) int {
	alike := -1
	for i, known := range l.known() {
		switch {
		case known.Name == column:
			return i
		case !strings.EqualFold(known.Name, column):
		case alike >= 0:
			alike = len(l.all)
		default:
			alike = i
		}
	}
	if alike == len(l.all) {
		return -1
	}
	return alike
}

// json is nil when it was freed.
func (l *lent) json(index int) []byte {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == 0 {
		return nil
	}
	return l.handle.JSON(index)
}

// life is empty when it was freed.
func (l *lent) life(index int) capi.Life {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == 0 {
		return capi.Life{}
	}
	return l.handle.Life(index)
}

// trace is empty when it was freed.
func (l *lent) trace(index int) capi.Trace {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.handle == 0 {
		return capi.Trace{}
	}
	return l.handle.Trace(index)
}

// startRenewal keeps the batch from being freed until its renewal has copied what it needs.
func (l *lent) startRenewal(queue capi.Queue, intervalMs int64) (capi.Renewal, *capi.Failure) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return queue.StartRenewal(l.handle, intervalMs)
}

// giveBack keeps the batch from being freed meanwhile.
func (l *lent) giveBack(worker capi.Worker) *capi.Failure {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return worker.GiveBack(l.handle)
}

// known are the columns. The mutex is held.
func (l *lent) known() []Column {
	if l.all == nil && l.handle != 0 {
		l.handle.Columns(func(name string, columnType int32) {
			l.all = append(l.all, Column{name, ColumnType(columnType)})
		})
		l.values = make([]capi.Values, len(l.all))
	}
	return l.all
}
