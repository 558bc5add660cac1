package readpast_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	readpast "github.com/readpast/readpast/bindings/go"
)

// The binding has what readpast.h has, with the same values, and nothing besides.

// header is the readpast.h of the tree, without comments.
func header(t *testing.T) string {
	t.Helper()
	text := must(os.ReadFile(os.Getenv("READPAST_HEADER")))(t)
	return regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`).ReplaceAllString(string(text), "")
}

// constants are the numbers by their names after READPAST_.
func constants(t *testing.T) map[string]int {
	t.Helper()
	numbers := map[string]int{}
	define := regexp.MustCompile(`(?m)^#define READPAST_(\w+) (-?\d+)$`)
	for _, match := range define.FindAllStringSubmatch(header(t), -1) {
		numbers[match[1]] = must(strconv.Atoi(match[2]))(t)
	}
	if len(numbers) < 60 {
		t.Fatal("the header was not understood")
	}
	return numbers
}

// sources are the files that fit a pattern, in one text.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range must(filepath.Glob(pattern))(t) {
		if !strings.HasSuffix(name, "_test.go") {
			all.Write(must(os.ReadFile(name))(t))
		}
	}
	return all.String()
}

// pascal is TimedOut for TIMED_OUT, and WaitP50Ms for wait_p50_ms.
func pascal(name string) string {
	var made strings.Builder
	for _, word := range strings.Split(strings.ToLower(name), "_") {
		made.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return strings.NewReplacer("Guid", "GUID", "Json", "JSON", "Ok", "OK").Replace(made.String())
}

func TestEveryConstantIsThere(t *testing.T) {
	kinds := map[string]string{"ACTION_": "Action", "STATE_": "State", "TYPE_": "ColumnType", "EVENT_": "EventKind"}
	wanted := map[string]bool{}
	for name := range constants(t) {
		prefix := regexp.MustCompile(`^(ACTION|STATE|TYPE|EVENT|VERSION)_|^ABI$|_ROOM$`).FindString(name)
		switch kind, has := kinds[prefix]; {
		case has:
			wanted[fmt.Sprintf("%s %s = C.READPAST_%s", pascal(name), kind, name)] = true
		case prefix == "":
			wanted[fmt.Sprintf("Status%s Status = C.READPAST_%s", pascal(name), name)] = true
		}
	}
	for _, found := range regexp.MustCompile(`\w+ \w+ = C\.READPAST_\w+`).FindAllString(sources(t, "*.go"), -1) {
		if !wanted[found] {
			t.Errorf("the header has nothing for %s", found)
		}
		delete(wanted, found)
	}
	for missing := range wanted {
		t.Errorf("there is no %s", missing)
	}
}

func TestConstantsAreCalledAsInTheHeader(t *testing.T) {
	for name, number := range constants(t) {
		switch prefix, rest, _ := strings.Cut(name, "_"); {
		case prefix == "ACTION":
			equal(t, readpast.Action(number).String(), pascal(rest))
		case prefix == "STATE":
			equal(t, readpast.State(number).String(), pascal(rest))
		case prefix == "TYPE":
			equal(t, readpast.ColumnType(number).String(), pascal(rest))
		case prefix == "EVENT":
			equal(t, readpast.EventKind(number).String(), pascal(rest))
		case prefix != "VERSION" && prefix != "LOG" && name != "ABI":
			equal(t, readpast.Status(number).String(), "READPAST_"+name)
			equal(t, readpast.Status(number).Error(), "READPAST_"+name)
		}
	}
	equal(t, readpast.Status(12345).String(), "READPAST_?")
	equal(t, readpast.Action(99).String(), "Action(99)")
	equal(t, readpast.State(-1).String(), "State(-1)")
	equal(t, readpast.ColumnType(0).String(), "ColumnType(0)")
	equal(t, readpast.EventKind(0).String(), "EventKind(0)")
}

func TestVersionAndABI(t *testing.T) {
	all := constants(t)
	equal(t, readpast.LibraryVersion(),
		fmt.Sprintf("%d.%d.%d", all["VERSION_MAJOR"], all["VERSION_MINOR"], all["VERSION_PATCH"]))
	equal(t, readpast.LibraryABI(), all["ABI"])
	guard := fmt.Sprintf("#if READPAST_ABI != %d\n", all["ABI"])
	equal(t, strings.Contains(sources(t, "internal/capi/*.go"), guard), true)
}

func TestEveryFunctionIsCalled(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^\w[\w ]*\*?(readpast_\w+)\(`).FindAllStringSubmatch(header(t), -1)
	if len(declared) < 40 {
		t.Fatal("the header was not understood")
	}
	calls := sources(t, "internal/capi/*.go") + sources(t, "internal/capi/*.h")
	// A call gives the status itself, a worker renews leases when it is time, and goroutines wait for items.
	needless := map[string]bool{"readpast_error_status": true, "readpast_worker_renew": true, "readpast_worker_want": true}
	for _, function := range declared {
		if strings.Contains(calls, function[1]+"(") == needless[function[1]] {
			t.Errorf("%s is not called, or is though it is needless", function[1])
		}
	}
}

// A struct's layout comes from the header; only a field that came later could be missing.
func TestEveryFieldIsUsed(t *testing.T) {
	structs := regexp.MustCompile(`(?s)typedef struct \{([^}]*)\} readpast_(\w+);`).FindAllStringSubmatch(header(t), -1)
	if len(structs) < 14 {
		t.Fatal("the header was not understood")
	}
	uses := sources(t, "internal/capi/*.go") + sources(t, "internal/capi/*.h")
	// Written by an _INIT, of no use, or as good as what is used: the number of columns is asked for once.
	known := map[string]bool{"struct_size": true, "reserved": true, "item.column_count": true}
	for _, match := range structs {
		name := match[2]
		for _, field := range regexp.MustCompile(`(\w+)(\[\d+\])?;`).FindAllStringSubmatch(match[1], -1) {
			used := regexp.MustCompile(`[.>_]_?` + field[1] + `\b`).MatchString(uses)
			// The worker logs only the interesting ones of its figures, at its end.
			if name != "worker_figures" && !used && !known[field[1]] && !known[name+"."+field[1]] {
				t.Errorf("%s.%s is not used", name, field[1])
			}
		}
	}
}
