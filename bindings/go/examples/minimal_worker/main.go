package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

func main() {
	ctx, options := context.Background(), readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}
	queue, err := readpast.Open(ctx, options, "Notification")
	for err == nil {
		var batch *readpast.Batch
		if batch, err = queue.Claim(ctx, 1, 5*time.Second); err != nil || batch.Len() == 0 {
			break
		}
		fmt.Println(batch.Item(0)) // the work
		_, err = queue.Settle(ctx, batch.Item(0).Complete())
		batch.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
}
