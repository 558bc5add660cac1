package readpast_test

import (
	"context"
	"fmt"
	"log"

	readpast "github.com/readpast/readpast/bindings/go"
)

// SendMail is work in a JSON column.
type SendMail struct {
	To     string
	Copies int
}

// Resize is work whose fields are columns.
type Resize struct {
	File string
}

func sendMail(_ context.Context, mail SendMail, item *readpast.Item) (readpast.Settlement, error) {
	fmt.Println("mail to", mail.To)
	return item.Complete(), nil
}

func resize(_ context.Context, work Resize, item *readpast.Item) (readpast.Settlement, error) {
	fmt.Println("resize", work.File)
	return item.Complete(), nil
}

// Handlers by the type of the item, which get its work as a value of Go.
func ExampleHandle() {
	var handlers readpast.Handlers
	readpast.Handle(&handlers, sendMail, readpast.InColumn("Document")) // items of the type SendMail
	readpast.Handle(&handlers, resize)                                  // items of the type Resize, whose fields are columns
	handle := handlers.Handler()                                        // for Worker.Handler

	batch, err := readpast.BatchFromJSON(`[
		{"type": "SendMail", "columns": {"Document": {"to": "a@example.org", "copies": 3}}},
		{"type": "Resize", "columns": {"File": "x.png"}},
		{"type": "SendMail", "columns": {"Document": {"to": "a@example.org", "copies": "many"}}}]`, "")
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	for i := range batch.Len() {
		settlement, err := handle(context.Background(), batch.Item(i))
		fmt.Println(settlement.Action, err)
		if settlement.Error != nil {
			fmt.Println(*settlement.Error)
		}
	}
	// Output:
	// mail to a@example.org
	// Complete <nil>
	// resize x.png
	// Complete <nil>
	// Fail <nil>
	// the item carries no SendMail: Copies is a JSON string, not int
}
