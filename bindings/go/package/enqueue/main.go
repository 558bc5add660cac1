// Puts items where the minimal worker looks for them: enqueue COUNT.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	readpast "github.com/readpast/readpast/bindings/go"
)

const notification = `{"queue": "Notification", "types": ["Email", "Sms"], "columns": [
	{"name": "Recipient", "type": "text(254)"}, {"name": "Subject", "type": "text(200)"},
	{"name": "Body", "type": "text"}]}`

func main() {
	count, err := strconv.Atoi(os.Args[1])
	check(err)
	ctx, options := context.Background(), readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}
	check(readpast.Install(ctx, options, notification))
	queue, err := readpast.Open(ctx, options, "Notification")
	check(err)
	defer queue.Close()
	items := make([]readpast.NewItem, count)
	for i := range items {
		items[i].Columns = readpast.Columns{"Recipient": fmt.Sprintf("customer-%d@example.com", i+1)}
	}
	_, err = queue.Enqueue(ctx, items...)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
