// Claims and completes items as fast as one goroutine can, in batches of 100, and says how long it took; the same as
// bindings/c/bench/drain.c.
//
//	READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... queue count
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

const (
	batchSize = 100
	warm      = 50000
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("drain: ")
	options, arguments := readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}, os.Args[1:]
	for len(arguments) > 1 && arguments[0] == "-o" {
		key, value, _ := strings.Cut(arguments[1], "=")
		options[key] = value
		arguments = arguments[2:]
	}
	if len(arguments) != 2 {
		fmt.Fprintln(os.Stderr, "usage: drain [-o key=value]... queue count")
		os.Exit(2)
	}
	wanted, err := strconv.Atoi(arguments[1])
	check(err)
	queue, err := readpast.Open(context.Background(), options, arguments[0])
	check(err)
	defer queue.Close()
	drain(queue, wanted)
}

func drain(queue *readpast.Queue, wanted int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done, read, rssBegin := 0, 0, residentKb()
	cpu, begun := cpuTime(), time.Now()
	batch, err := queue.Claim(ctx, batchSize, 0)
	check(err)
	for settlements := make([]readpast.Settlement, 0, batchSize); batch.Len() > 0; settlements = settlements[:0] {
		for i := range batch.Len() {
			item := batch.Item(i)
			payload, err := item.Value("Payload").Text()
			check(err)
			read += len(payload)
			settlements = append(settlements, item.Complete())
		}
		outcomes, next, err := queue.SettleAndClaim(ctx, batchSize, settlements...)
		check(err)
		if outcomes.Status() != readpast.StatusOK {
			log.Fatal("an item was refused")
		}
		check(batch.Close())
		batch = next
		if done < warm && done+len(settlements) >= warm {
			rssBegin = residentKb()
		}
		done += len(settlements)
	}
	took, used := time.Since(begun), cpuTime()-cpu
	if done != wanted || read == 0 {
		log.Fatalf("there were %d items", done)
	}
	fmt.Printf("{\"items\":%d,\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"rss_begin_kb\":%d,\"rss_end_kb\":%d}\n",
		done, took.Seconds(), used.Seconds(), rssBegin, residentKb())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func residentKb() int {
	// The garbage that happens to lie about is not what is looked for.
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	check(err)
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	check(err)
	return pages * os.Getpagesize() / 1024
}
