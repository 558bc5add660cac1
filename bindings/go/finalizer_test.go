package readpast_test

import (
	"runtime"
	"testing"
	"time"
)

// To free a renewal means to wait for its round, which here waits for a lock until the test lets go. The collector's
// one goroutine must have gone on to others meanwhile.
func TestNoFinalizerWaits(t *testing.T) {
	name := install(t)
	queue := openNamed(t, name)
	enqueue(t, queue, "a")
	batch := must(queue.Claim(ctx, 1, 0))(t)
	server := startPsql(t)
	server.ask("BEGIN; LOCK TABLE readpast_go." + name + "; SELECT 1")
	must(queue.StartRenewalEvery(batch, time.Millisecond))(t)
	runtime.KeepAlive(batch) // and no longer; it knows its renewal
	until(t, func() bool { return server.ask(waiting) == "1" })
	for range 5 {
		ran := make(chan bool, 1)
		forgetMark(ran)
		until(t, func() bool {
			runtime.GC()
			return len(ran) == 1
		})
	}
	equal(t, server.ask(waiting), "1")
	server.ask("COMMIT; SELECT 1")
}

//go:noinline
func forgetMark(ran chan<- bool) {
	mark := new([64]byte)
	mark[0] = 1
	runtime.SetFinalizer(mark, func(*[64]byte) { ran <- true })
}
