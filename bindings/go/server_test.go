package readpast_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// waiting counts the sessions that wait for a lock.
const waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"

// psql is a session on the test's PostgreSQL that is not the library's.
type psql struct {
	t      *testing.T
	input  io.Writer
	output *bufio.Reader
}

func startPsql(t *testing.T) psql {
	bin, has := os.LookupEnv("READPAST_PG_BIN")
	if !has {
		t.Skip("needs the throw-away PostgreSQL")
	}
	command := exec.Command(bin+"/psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1")
	command.Env = os.Environ()
	for variable, key := range map[string]string{
		"PGHOST": "Server", "PGPORT": "Port", "PGDATABASE": "Database", "PGUSER": "Uid", "PGPASSWORD": "Pwd",
	} {
		command.Env = append(command.Env, variable+"="+connectionValue(key))
	}
	input := must(command.StdinPipe())(t)
	output := must(command.StdoutPipe())(t)
	check(t, command.Start())
	t.Cleanup(func() {
		input.Close()
		command.Wait()
	})
	return psql{t, input, bufio.NewReader(output)}
}

// connectionValue is what the connection string of the test says, which has no braces.
func connectionValue(key string) string {
	for _, pair := range strings.Split(os.Getenv("READPAST_CONNECTION"), ";") {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), key) {
			return value
		}
	}
	return ""
}

// ask runs statements of which one gives a value.
func (p psql) ask(sql string) string {
	p.t.Helper()
	must(fmt.Fprintln(p.input, sql+";"))(p.t)
	return strings.TrimSpace(must(p.output.ReadString('\n'))(p.t))
}

// silentServer takes connections, and says nothing.
type silentServer struct {
	connection string
	accepted   <-chan net.Conn
}

func listen(t *testing.T) silentServer {
	if _, has := os.LookupEnv("READPAST_PG_BIN"); !has {
		t.Skip("the connection string is one of PostgreSQL")
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	accepted := make(chan net.Conn, 1)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			select {
			case accepted <- connection:
			default:
			}
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	driver := strings.SplitN(os.Getenv("READPAST_CONNECTION"), ";", 2)[0]
	return silentServer{driver + ";Server=127.0.0.1;Port=" + port + ";Database=x;Uid=x;Pwd=x;", accepted}
}
