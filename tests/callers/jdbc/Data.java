import java.math.BigDecimal;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import readpast.data.NewItem;
import readpast.data.Readpast;
import readpast.data.Receipt;

/** The package of bindings/java/data: what it enqueues is there with the commit of the caller's transaction, or not. */
final class Data {
    private enum Colour {
        RED
    }

    private static Readpast queue(Given given) {
        return Readpast.queue(given.name.equals("transfer") ? "Transfer" : "Notice");
    }

    static void testItemsAreThereWithTheCommit(Given given) throws SQLException {
        given.pay();
        queue(given).enqueue(given.connection, Map.of("amount", 1, "work", "a"));
        given.connection.rollback();
        given.everything("100");
        given.pay();
        List<NewItem> items = List.of(NewItem.of(Map.of("Amount", 1, "work", "\"ü\n\uD83D\uDE80")), NewItem.of(Map.of()));
        List<Receipt> receipts = queue(given).inSchema("readpast").enqueue(given.connection, items);
        given.connection.commit();
        given.everything("90", "Pending", "Pending");
        Given.same(receipts.stream().map(Receipt::duplicate).toList(), List.of(false, false));
        Given.same(given.all("SELECT work FROM readpast." + table(given) + " WHERE amount = 1"), List.of("\"ü\n\uD83D\uDE80"));
    }

    static void testADuplicateHasTheKeyOfTheFirst(Given given) throws SQLException {
        Receipt first = queue(given).enqueue(given.connection, Map.of("work", "a"));
        List<NewItem> items = List.of(NewItem.of(Map.of("work", "b")), NewItem.of(Map.of("work", "a")));
        List<Receipt> receipts = queue(given).enqueue(given.connection, items);
        Given.same(receipts.get(1), new Receipt(first.key(), true));
        Given.same(receipts.get(0).duplicate(), false);
        String key = given.name.equals("transfer")
                ? "to_char(enqueued_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US0')"
                : "id::text";
        Given.same(given.all("SELECT " + key + " FROM readpast." + table(given) + " WHERE work = 'a'"), List.of(first.key()));
    }

    static void testACallWithAnOperationIsMadeAgain(Given given) throws SQLException {
        Readpast call = queue(given).withOperation(UUID.randomUUID());
        Receipt first = call.enqueue(given.connection, Map.of("amount", 1));
        given.connection.commit();
        Given.same(call.enqueue(given.connection, Map.of("amount", 1)), first);
        given.connection.commit();
        given.everything("100", "Pending");
    }

    static void testAnItemWaits(Given given) throws SQLException {
        List<NewItem> items = List.of(
                NewItem.of(Map.of("amount", 1)).withDelay(Duration.ofHours(1)),
                NewItem.of(Map.of("amount", 1)).withDue(Instant.now().plusSeconds(3600)));
        queue(given).enqueue(given.connection, items);
        given.connection.commit();
        String claim = "SELECT answer FROM readpast.next_%s_set_trx('me', 2) WHERE answer_key IS NOT NULL";
        Given.same(given.all(claim.formatted(given.name)), List.of());
    }

    static void testValuesAreWrittenAsTheProceduresTakeThem(Given given) throws SQLException {
        Map<String, Object> columns = new LinkedHashMap<>();
        columns.put("at", OffsetDateTime.parse("2026-11-21T09:30:00.123456789+01:00"));
        columns.put("whole", Instant.parse("2026-11-21T08:30:00Z"));
        columns.put("day", LocalDate.of(2026, 11, 21));
        columns.put("sum", new BigDecimal("1E+3"));
        columns.put("raw", new byte[] {-1});
        columns.put("list", Arrays.asList(1, 2.5, true, null, Colour.RED, Map.of("a", "\u0001\\")));
        String wanted = "{\"at\":\"2026-11-21T08:30:00.1234567Z\",\"whole\":\"2026-11-21T08:30:00Z\",\"day\":\"2026-11-21\","
                + "\"sum\":\"1000\",\"raw\":\"/w==\",\"list\":[1,2.5,true,null,\"RED\",{\"a\":\"\\u0001\\\\\"}]}";
        List<NewItem> items = List.of(NewItem.of(columns).withType("A").withDelay(Duration.ofNanos(1)).withAfter(List.of(0), "run"));
        Given.same(written(given, items), "[{\"type\":\"A\",\"delay_ms\":1,\"after\":[0],\"on_failed\":\"run\",\"columns\":" + wanted + "}]");
    }

    static void testWhatCannotBeWrittenIsRefusedBefore(Given given) throws SQLException {
        for (Object wrong : List.of("\uD83D", Double.NaN, LocalDateTime.MIN, new Object())) {
            try {
                queue(given).enqueue(given.connection, Map.of("work", wrong));
                throw new AssertionError("it takes " + wrong);
            } catch (IllegalArgumentException refused) {
                given.all("SELECT 1");
            }
        }
        try {
            queue(given).enqueue(given.connection, Collections.nCopies(1001, NewItem.of(Map.of())));
            throw new AssertionError("it takes 1,001 items");
        } catch (SQLException refused) {
            given.connection.rollback();
        }
    }

    static void testTheOrderAndItsNoticeAreOneCommit(Given given) throws SQLException {
        given.run("CREATE TEMPORARY TABLE orders (id serial, customer integer, amount integer)");
        given.connection.commit();
        Shop.checkOut(given.connection, 1, 50);
        given.connection.rollback();
        int id = Shop.checkOut(given.connection, 1, 50);
        given.connection.commit();
        Given.same(given.all("SELECT amount FROM orders"), List.of("50"));
        Given.same(given.all("SELECT work FROM readpast.notices"), List.of("order " + id));
    }

    private static String table(Given given) {
        return given.name.equals("transfer") ? "transfer" : "notices";
    }

    /** The items as the server receives them: a function of the name of a queue's gives them back. */
    private static String written(Given given, List<NewItem> items) throws SQLException {
        given.run("CREATE SCHEMA echo");
        given.run("CREATE FUNCTION echo.add_echo_set_utx(items json, operation uuid) RETURNS TABLE"
                + " (answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text)"
                + " LANGUAGE sql AS $$ SELECT 'OK', 0, 0, items::text $$");
        String key = Readpast.queue("Echo").inSchema("echo").enqueue(given.connection, items).get(0).key();
        given.connection.rollback();
        return key;
    }

    private Data() {}
}
