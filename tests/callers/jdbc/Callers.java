import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

/** The caller's own transaction over JDBC: each method whose name begins with "test", on each kind of table. */
final class Callers {
    static void testAllOfItIsDoneWithTheCommit(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        given.settle(item, "OK");
        given.put("b");
        given.addSet(null, List.of("c", "d"), "OK", "OK");
        given.everything("100", "Processing");
        given.connection.commit();
        given.everything("90", "Completed", "Pending", "Pending", "Pending");
    }

    static void testNothingOfItIsDoneWithARollback(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        given.settleSet(null, item, "OK");
        given.put("b");
        given.connection.rollback();
        given.everything("100", "Processing");
        given.settle(item, "OK");
    }

    static void testASavepointUndoesWhatCameAfterIt(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        Savepoint here = given.connection.setSavepoint();
        given.settle(item, "OK");
        given.addSet(null, List.of("b"), "OK");
        given.connection.rollback(here);
        given.settleSet(null, item.as("Error"), "OK");
        given.connection.commit();
        given.everything("90", "Error");
    }

    static void testWhatIsRefusedIsAnAnswerAndEndsNothing(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        given.settle(new Given.Item(item.key(), "2020-01-01T00:00:00Z", item.attempt(), "Completed"), "CONFLICT");
        given.settleSet(null, new Given.Item(item.key(), item.token(), 7, "Completed"), "LEASE_LOST");
        given.settleSet(null, item.as("Unheard"), "ILLEGAL_TRANSITION");
        given.addSet(null, List.of("a", "b", "b"), "DUPLICATE", "OK", "DUPLICATE");
        given.settle(item, "OK");
        given.connection.commit();
        given.everything("90", "Completed", "Pending");
    }

    static void testAnErrorInBetweenUndoesUpToTheSavepoint(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        String tooMany = "SELECT readpast.modify_%s_set_utx(NULL, 'me', '[]', 5000)".formatted(given.name);
        for (List<String> wrong : List.of(List.of("SELECT 1 / 0", "22012"), List.of(tooMany, "RP021"))) {
            Savepoint here = given.connection.setSavepoint();
            given.settle(item, "OK");
            given.put("b");
            fails(given, wrong.get(0), wrong.get(1));
            given.connection.rollback(here);
        }
        given.settle(item.as("Error"), "OK");
        given.connection.commit();
        given.everything("90", "Error");
    }

    static void testAnErrorInBetweenUndoesAllWhereThereIsNoSavepoint(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        given.pay();
        given.settle(item, "OK");
        given.put("b");
        fails(given, "SELECT 1 / 0", "22012");
        // A caller that does not heed it gets the error at the next call.
        fails(given, "SELECT 1", "25P02");
        given.connection.rollback();
        given.everything("100", "Processing");
        given.settle(item, "OK");
    }

    private static void fails(Given given, String statement, String state) throws SQLException {
        try {
            given.run(statement);
        } catch (SQLException error) {
            Given.same(error.getSQLState(), state);
            return;
        }
        throw new AssertionError("no error: " + statement);
    }

    static void testACrashBeforeTheCommitLeavesNothing(Given given) throws Exception {
        Given.Item item = given.takeNew("a");
        String java = ProcessHandle.current().info().command().orElseThrow();
        Process process = new ProcessBuilder(
                        java, "-cp", System.getProperty("java.class.path"), "Callers", "crash", given.name,
                        item.key(), item.token(), String.valueOf(item.attempt()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            Given.same(output.readLine(), "settled");
        } finally {
            process.destroyForcibly().waitFor();
        }
        // Waits for the row until the server has noticed.
        given.settle(item, "OK");
        given.connection.commit();
        given.everything("100", "Completed");
    }

    /** The part of that test that is another process: it never commits. */
    private static void crash(String name, Given.Item item) throws Exception {
        Given given = new Given(name);
        given.pay();
        given.put("b");
        given.settle(item, "OK");
        System.out.println("settled");
        System.in.read();
    }

    static void testAnOperationShowsWhetherTheCommitHasHappened(Given given) throws SQLException {
        Given.Item item = given.takeNew("a");
        String settles = UUID.randomUUID().toString();
        String adds = UUID.randomUUID().toString();
        for (boolean isCut : new boolean[] {true, false, false}) {
            // The last time nothing is changed, and the answers are the same.
            try (Given other = new Given(given.name)) {
                other.settleSet(settles, item, "OK");
                other.addSet(adds, List.of("b"), "OK");
                if (isCut) {
                    String pid = other.all("SELECT pg_backend_pid()").get(0);
                    given.all("SELECT pg_terminate_backend(?::integer)", pid);
                }
                other.connection.commit();
                Given.same(isCut, false);
            } catch (SQLException error) {
                Given.same(isCut, true);
            }
            given.isDone(settles, !isCut);
            given.isDone(adds, !isCut);
        }
        given.everything("100", "Completed", "Pending");
    }

    static void testTheLinesOnThePageWork(Given any) throws SQLException {
        try (Given given = Given.fresh("transfer")) {
            Given.same(Transfer.transfer(given.connection, Given.WORKER), false);
            given.put("a");
            given.connection.commit();
            Given.same(Transfer.transfer(given.connection, Given.WORKER), true);
            given.everything("90", "Completed");
            Given.same(given.all("SELECT amount FROM readpast.notices"), List.of("10"));
        }
    }

    static void testTheLinesOnThePageUndoTheWorkOnAnItemThatWasLost(Given any) throws Exception {
        try (Given given = Given.fresh("transfer");
                Given holder = new Given("transfer");
                Given one = new Given("transfer")) {
            given.put("a");
            given.connection.commit();
            holder.all("SELECT 1 FROM account FOR UPDATE");
            String pid = one.all("SELECT pg_backend_pid()").get(0);
            one.connection.commit();
            Connection its = one.connection;
            FutureTask<Boolean> task = new FutureTask<>(() -> Transfer.transfer(its, Given.WORKER));
            new Thread(task).start();
            // It is at its work: an operator cancels the item under its hands.
            long deadline = System.nanoTime() + 600_000_000_000L;
            String waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND pid = ?::integer";
            while (given.all(waits, pid).get(0).equals("0")) {
                Given.same(System.nanoTime() < deadline, true);
            }
            given.all("SELECT readpast.modify_transfer_trx(enqueued_at, updated_at, 'Cancelled') FROM readpast.transfer");
            given.connection.commit();
            holder.connection.rollback();
            try {
                task.get();
                throw new AssertionError("the item was lost");
            } catch (ExecutionException lost) {
                Given.same(lost.getCause().getClass(), Transfer.LostException.class);
            }
            given.everything("100", "Cancelled");
            Given.same(given.all("SELECT id FROM readpast.notices"), List.of());
        }
    }

    public static void main(String[] arguments) throws Throwable {
        if (arguments.length > 0) {
            crash(arguments[1], new Given.Item(arguments[2], arguments[3], Integer.parseInt(arguments[4]), "Completed"));
            return;
        }
        List<Method> tests = Stream.of(Callers.class, Data.class)
                .flatMap(from -> Stream.of(from.getDeclaredMethods()))
                .filter(method -> method.getName().startsWith("test"))
                .sorted(Comparator.comparing(Method::getName))
                .toList();
        for (Method test : tests) {
            for (String name : List.of("transfer", "notice")) {
                try (Given given = Given.fresh(name)) {
                    test.invoke(null, given);
                } catch (InvocationTargetException error) {
                    System.err.println("failed: " + test.getName() + ", " + name);
                    throw error.getCause();
                }
            }
        }
        System.out.println(tests.size() + " tests, on two kinds of table");
    }

    private Callers() {}
}
