// Package readpast drives work queues that are ordinary tables of SQL Server, or of PostgreSQL: workers take due rows,
// work on them, and settle them. It calls the library readpast, which does the work; README.md beside this file explains
// how to install it.
//
// # Calls
//
// A [Queue] may be used by any number of goroutines at once. A result that is to be expected is a value: an empty
// [Batch], an [Outcome] whose Answer is [StatusLeaseLost]. A failure is an error: an [*Error], which errors.Is compares
// with its [Status] and errors.As takes apart.
//
// Every call that reaches the server takes a context. When it has ended before, nothing is sent. A claim that waits
// ends with it at once; so do, for the caller, [Open], [Queue.Find] and [Queue.Stats]. A call that changes something is
// brought to its end once it has begun, so that what it changed is known: how long that takes at most is set by
// query.timeout_ms and retry.budget_ms.
//
// # Threads
//
// The library is synchronous: a goroutine that is in a call holds a thread of the operating system, one of the 10000
// that the runtime grants ([runtime/debug.SetMaxThreads]). A hundred goroutines that wait for items are a hundred
// threads, though they ask the server no more often than one. Have few of them claim batches, and hand items out.
//
// # Freeing
//
// Close what has a Close: connections and the memory of the library are not Go's, and the collector does not see how
// much there is. A forgotten handle is freed when the collector finds it. Values that were read stay.
//
// Connections do not survive a fork. Go itself forks only to start another program at once, which does no harm; in the
// child of a fork that C code made, calls fail with [StatusForked].
package readpast
