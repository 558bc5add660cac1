package readpast

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Queue is an open queue, with its connections and the name that its leases are held under. Any number of goroutines
// may use it at once; each call takes a connection of its own.
type Queue struct {
	handle capi.Queue
	// claims is shared of handle, and claims are made on it, so that Close interrupts no other user's.
	claims capi.Queue
	name   string
	worker string
	lease  time.Duration
	closed atomic.Bool
}

// Install installs readpast's own objects into the schema that the options name, or upgrades them, and the queue that
// spec describes: JSON or TOML, like
//
//	{"queue": "Notification", "types": ["Email"], "columns": [{"name": "Recipient", "type": "text(254)"}]}
//
// or empty for no queue. It is the description itself; [InstallFile] takes the name of a file. Install leaves alone what is
// there already, so it can be called at every start. It needs the rights to create objects; workers do not.
func Install(ctx context.Context, options Options, spec string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return failed(capi.Install(options.pairs(), spec))
}

// InstallFile is [Install] with the description in a file, as JSON or TOML.
func InstallFile(ctx context.Context, options Options, name string) error {
	spec, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return Install(ctx, options, string(spec))
}

// Open connects, checks that the queue is as the library needs it, and opens it. When ctx ends before that is done,
// Open returns at once; what comes of the attempt is closed.
func Open(ctx context.Context, options Options, name string) (*Queue, error) {
	pairs := options.pairs()
	open := func() (*Queue, error) {
		handle, failure := capi.Open(pairs, name)
		if failure != nil {
			return nil, failed(failure)
		}
		return newQueue(handle)
	}
	return await(ctx, open, func(late *Queue) { _ = late.Close() })
}

// newQueue owns the handle, also if it fails.
func newQueue(handle capi.Queue) (*Queue, error) {
	claims, failure := handle.Share()
	if failure != nil {
		handle.Free()
		return nil, failed(failure)
	}
	queue := &Queue{
		handle: handle,
		claims: claims,
		name:   handle.Name(),
		worker: handle.Worker(),
		lease:  time.Duration(handle.LeaseMs()) * time.Millisecond,
	}
	// To free it means to take leave of the server, for which the collector's goroutine must not wait.
	runtime.SetFinalizer(queue, func(q *Queue) { go q.Close() })
	return queue, nil
}

// Share makes another handle on the queue, with its connections and leases in common, which can be interrupted for
// itself alone; when this one is interrupted, it is too. Closing one leaves the others open.
func (q *Queue) Share() (*Queue, error) {
	if q.closed.Load() {
		return nil, closed("queue")
	}
	defer runtime.KeepAlive(q)
	handle, failure := q.handle.Share()
	if failure != nil {
		return nil, q.failed(failure)
	}
	return newQueue(handle)
}

// At makes another handle, as Share does, at one of the places of a queue that is spread over several databases, for calls that
// cannot be about all of them.
func (q *Queue) At(place string) (*Queue, error) {
	if q.closed.Load() {
		return nil, closed("queue")
	}
	defer runtime.KeepAlive(q)
	handle, failure := q.handle.At(place)
	if failure != nil {
		return nil, q.failed(failure)
	}
	return newQueue(handle)
}

// Name is that of the queue, as its description has it.
func (q *Queue) Name() string {
	return q.name
}

// IsTraced reports whether trace context travels with its items, so that spans are worth their while: whether its description has
// trace.
func (q *Queue) IsTraced() bool {
	defer runtime.KeepAlive(q)
	return q.handle.IsTraced()
}

// WorkerName is the name that the leases are held under: the setting worker, or a name that no other queue has.
func (q *Queue) WorkerName() string {
	return q.worker
}

// GivenUp is how many connections were given up so far, since they fell silent without being closed; see docs/worker.md.
func (q *Queue) GivenUp() int64 {
	return q.handle.GivenUp()
}

// Lease is how long a claim holds: the setting lease.ms, or else what the queue's description says. The queue's leaseMs in
// AppSettings overrides the description on the server, and is not asked for here.
func (q *Queue) Lease() time.Duration {
	return q.lease
}

// Interrupt makes every claim on this queue and on those shared of it, waiting or to come, give an empty batch with
// StatusInterrupted at once, until Resume. Settling and renewing go on, so that work in flight can be finished;
// SettleAndClaim then only settles.
func (q *Queue) Interrupt() error {
	if q.closed.Load() {
		return closed("queue")
	}
	defer runtime.KeepAlive(q)
	return q.failed(q.handle.Interrupt())
}

// Resume ends what Interrupt began.
func (q *Queue) Resume() error {
	if q.closed.Load() {
		return closed("queue")
	}
	defer runtime.KeepAlive(q)
	return q.failed(q.handle.Resume())
}

// Wake has everybody in this process who waits for the queue look at it at once. Call it after you enqueued without the
// library, or inside a transaction that has committed since.
func (q *Queue) Wake() error {
	if q.closed.Load() {
		return closed("queue")
	}
	defer runtime.KeepAlive(q)
	return q.failed(q.handle.Wake())
}

// Attach makes a queue whose Enqueue and Settle work on an ODBC connection of the caller's, inside its transaction.
// connection is the address of its handle (SQLHDBC), which the caller keeps open. All else fails with StatusNotProvided. The
// library neither commits nor closes it. With database/sql call Modify_<queue>_Set_utx and Add_<queue>_Set_utx on its Tx
// (sql/README.md).
func (q *Queue) Attach(connection uintptr) (*Queue, error) {
	if q.closed.Load() {
		return nil, closed("queue")
	}
	defer runtime.KeepAlive(q)
	handle, failure := q.handle.Attach(connection)
	if failure != nil {
		return nil, q.failed(failure)
	}
	return newQueue(handle)
}

// IsDone is whether the call that was made with operation has committed, for a caller who has lost the answer to a commit of
// his own. One that is under way is waited for; after an hour identities are forgotten.
func (q *Queue) IsDone(operation string) (bool, error) {
	if q.closed.Load() {
		return false, closed("queue")
	}
	defer runtime.KeepAlive(q)
	status, failure := q.handle.IsDone(operation)
	return failure == nil && Status(status) == StatusOK, q.failed(failure)
}

// Close frees this queue. Its claims that wait are interrupted; other calls under way end as they would have, and the
// last of them closes the connections if nothing shared is open. Calls from here on fail with StatusClosed. Close again
// does nothing. It never fails; Shutdown before it is for who wants to wait for calls under way.
func (q *Queue) Close() error {
	if q.closed.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(q, nil)
	// In the child of a fork there is no call to interrupt, and the library refuses.
	_ = q.claims.Interrupt()
	q.claims.Free()
	q.handle.Free()
	return nil
}

// ready returns why a call is not to be made at all, or nil.
func (q *Queue) ready(ctx context.Context) error {
	if q.closed.Load() {
		return closed("queue")
	}
	return ctx.Err()
}

// failed is the error of a failure, which may be that another goroutine has closed the queue meanwhile.
func (q *Queue) failed(failure *capi.Failure) error {
	if failure != nil && Status(failure.Status) == StatusInvalidHandle && q.closed.Load() {
		return closed("queue")
	}
	return failed(failure)
}
