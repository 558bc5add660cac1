package readpast_test

import (
	"errors"
	"strings"
	"testing"

	readpast "github.com/readpast/readpast/bindings/go"
)

func TestQueuesAreListedAndDroppedWithTheirItems(t *testing.T) {
	queue := open(t)
	held := claimed(t, queue, "a")
	name := queue.Name()
	find := func() (readpast.Installed, bool) {
		for _, one := range must(readpast.List(ctx, settings()))(t) {
			if one.Queue == name {
				return one, true
			}
		}
		return readpast.Installed{}, false
	}
	listed, is := find()
	equal(t, is && listed.Own, true)
	equal(t, strings.HasPrefix(listed.Table, "readpast_go."), true)
	equal(t, strings.Contains(listed.Description, `"Payload"`), true)

	unknown := func(err error) {
		t.Helper()
		equal(t, errors.Is(err, readpast.StatusUnknownQueue), true)
	}
	unknown(readpast.Drop(ctx, settings(), name+"x"))
	check(t, readpast.Drop(ctx, settings(), name))
	_, is = find()
	equal(t, is, false)
	_, err := queue.Settle(ctx, held.Item(0).Complete())
	unknown(err)
	unknown(readpast.Drop(ctx, settings(), name))

	elsewhere := settings()
	elsewhere["schema"] = "readpast_go_nowhere"
	_, err = readpast.List(ctx, elsewhere)
	equal(t, errors.Is(err, readpast.StatusSchemaMissing), true)
}
