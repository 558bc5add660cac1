//go:build go1.23

package readpast_test

import (
	"context"
	"fmt"
	"log"

	readpast "github.com/readpast/readpast/bindings/go"
)

// With Go 1.23 and later, a queue is worked off in a loop.
func ExampleQueue_Claims() {
	ctx := context.Background()
	queue := exampleQueue("ExampleClaims", "one", "two", "three")
	defer queue.Close()
	for batch, err := range queue.Claims(ctx, 2, 0) {
		if err != nil {
			log.Fatal(err)
		}
		var settlements []readpast.Settlement
		for _, item := range batch.All() {
			fmt.Println(item.Value("Payload"))
			settlements = append(settlements, item.Complete())
		}
		if _, err = queue.Settle(ctx, settlements...); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// one
	// two
	// three
}

// All failed items, however many.
func ExampleQueue_FindAll() {
	ctx := context.Background()
	queue := exampleQueue("ExampleFindAll", "one", "two")
	defer queue.Close()
	for batch, err := range queue.Claims(ctx, 10, 0) {
		if err != nil {
			log.Fatal(err)
		}
		for _, item := range batch.All() {
			if _, err = queue.Settle(ctx, item.Fail("no such address")); err != nil {
				log.Fatal(err)
			}
		}
	}
	for item, err := range queue.FindAll(ctx, `{"status": ["Failed"]}`) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(item.Value("Payload"), item.Value("Error"))
	}
	// Output:
	// one no such address
	// two no such address
}
