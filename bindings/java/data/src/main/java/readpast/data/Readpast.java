package readpast.data;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/**
 * A queue, into which items are put in the caller's own transaction, over the caller's own JDBC connection: an order and the mail about
 * it are there together, or neither is. It is plain Java; workers, in any language, have the native library.
 *
 * <pre>{@code
 * Readpast.queue("Notice").enqueue(connection, Map.of("amount", 50, "work", "order 4711"));
 * connection.commit();
 * }</pre>
 *
 * @param schema the schema of the queue's procedures
 * @param name the queue's name, as its description has it
 * @param operation an identity for one call, or null; see {@link #withOperation}
 */
public record Readpast(String schema, String name, UUID operation) {
    /** Refuses names that no queue has. */
    public Readpast {
        for (String each : List.of(schema, name)) {
            if (each.isEmpty() || each.indexOf('\0') >= 0) {
                throw new IllegalArgumentException("\"" + each + "\" is no name of a queue or a schema");
            }
        }
    }

    /**
     * The queue of a name in the schema readpast.
     *
     * @param name the queue's name, as its description has it
     * @return the queue
     */
    public static Readpast queue(String name) {
        return new Readpast("readpast", name, null);
    }

    /**
     * The queue of the same name in another schema.
     *
     * @param other the schema
     * @return the queue
     */
    public Readpast inSchema(String other) {
        return new Readpast(other, name, operation);
    }

    /**
     * The queue, with an identity for a call: made again with it after the commit, the call adds nothing and returns the same keys. It is
     * for the answer to a commit that was lost.
     *
     * @param identity a new one for each call that is not made again
     * @return the queue
     */
    public Readpast withOperation(UUID identity) {
        return new Readpast(schema, name, identity);
    }

    /**
     * Enqueues one item that is due now.
     *
     * @param connection a connection, with the transaction that it is in
     * @param columns the values of the queue's own columns, by name in any case
     * @return the item's key
     * @throws SQLException if the database refuses; see {@link #enqueue(Connection, List)}
     */
    public Receipt enqueue(Connection connection, Map<String, ?> columns) throws SQLException {
        return enqueue(connection, List.of(NewItem.of(columns))).get(0);
    }

    /**
     * Enqueues at most 1,000 items: they are there when the transaction commits, and workers wake then. In autocommit the call is a
     * transaction of its own on PostgreSQL, and an error on SQL Server.
     *
     * @param connection a connection, with the transaction that it is in
     * @param items the items
     * @return a receipt for each item, in the order of the items
     * @throws SQLException the driver's own, as for any statement: it ends the transaction on SQL Server, and on PostgreSQL goes back to
     *     the last savepoint
     * @throws IllegalArgumentException if a value of an item cannot be written
     */
    public List<Receipt> enqueue(Connection connection, List<NewItem> items) throws SQLException {
        String json = Json.of(items);
        String product = connection.getMetaData().getDatabaseProductName();
        try (PreparedStatement call = connection.prepareStatement(statement(product))) {
            call.setString(1, json);
            call.setString(2, Objects.toString(operation, null));
            boolean isResult = call.execute();
            while (!isResult && call.getUpdateCount() >= 0) {
                isResult = call.getMoreResults();
            }
            if (!isResult) {
                throw new SQLException("the call for the queue " + name + " gave no answer");
            }
            try (ResultSet answer = call.getResultSet()) {
                return Receipt.all(answer);
            }
        }
    }

    /** The call of the set form, whose parameters are items and operation, and whose first columns answer, ordinal, due time and key. */
    String statement(String product) {
        return switch (product) {
            case "PostgreSQL" -> "SELECT answer, answer_ordinal, answer_due_ms, answer_key FROM " + quoted(schema, '"', '"') + "."
                    + quoted("add_" + snakeCase(name) + "_set_utx", '"', '"') + "(?::json, ?::uuid)";
            case "Microsoft SQL Server" -> "EXECUTE " + quoted(schema, '[', ']') + "." + quoted("Add_" + name + "_Set_utx", '[', ']')
                    + " @Items = ?, @Operation = ?";
            default -> throw new IllegalArgumentException("queues are on PostgreSQL and SQL Server; the connection leads to " + product);
        };
    }

    private static String quoted(String name, char begin, char end) {
        return begin + name.replace(String.valueOf(end), String.valueOf(end) + end) + end;
    }

    /** The name of a function, as the library makes it: PasswordReset is password_reset, SMSOut sms_out. */
    static String snakeCase(String name) {
        String apart = name.replaceAll("([A-Z])([A-Z][a-z])", "$1_$2");
        return apart.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
    }
}
