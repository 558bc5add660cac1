import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A queue, with somebody's account beside it, and what is called in the tests. */
final class Given implements AutoCloseable {
    static final String WORKER = "me";

    /** The item of a claim, and the status that settles it. */
    record Item(String key, String token, int attempt, String status) {
        Item as(String other) {
            return new Item(key, token, attempt, other);
        }

        String json() {
            return "{\"key\": \"%s\", \"token\": \"%s\", \"attempt\": %d, \"status\": \"%s\"}"
                    .formatted(key, token, attempt, status);
        }
    }

    final String name;
    final Connection connection;

    Given(String name) throws SQLException {
        this.name = name;
        this.connection = connect();
    }

    /** To the server of PGHOST and so on, with setAutoCommit(false). */
    static Connection connect() throws SQLException {
        String url = "jdbc:postgresql://%s:%s/%s"
                .formatted(System.getenv("PGHOST"), System.getenv("PGPORT"), System.getenv("PGDATABASE"));
        Connection made = DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
        made.setAutoCommit(false);
        return made;
    }

    /** Without items, and with an account of 100. */
    static Given fresh(String name) throws SQLException {
        Given given = new Given(name);
        for (String statement : List.of(
                "DROP TABLE IF EXISTS account",
                "CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL)",
                "INSERT INTO account VALUES (1, 100)",
                "DELETE FROM readpast.transfer",
                "DELETE FROM readpast.notices")) {
            given.run(statement);
        }
        given.connection.commit();
        return given;
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }

    void run(String statement) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            prepared.execute();
        }
    }

    /** The first column. */
    List<String> all(String query, Object... values) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(query)) {
            for (int i = 0; i < values.length; i++) {
                prepared.setObject(i + 1, values[i]);
            }
            ResultSet rows = prepared.executeQuery();
            List<String> found = new ArrayList<>();
            while (rows.next()) {
                found.add(rows.getString(1));
            }
            return found;
        }
    }

    /** As one does before his transaction: committed by itself. */
    Item takeNew(String work) throws SQLException {
        put(work);
        connection.commit();
        String query = "SELECT answer_key::text, answer_token::text, answer_attempt FROM readpast.next_%s_set_trx(?, 1)";
        try (PreparedStatement claim = connection.prepareStatement(query.formatted(name))) {
            claim.setString(1, WORKER);
            ResultSet row = claim.executeQuery();
            row.next();
            Item taken = new Item(row.getString(1), row.getString(2), row.getInt(3), "Completed");
            connection.commit();
            return taken;
        }
    }

    void put(String work) throws SQLException {
        all("SELECT readpast.add_%s_utx(amount_ => 10, work_ => ?)".formatted(name), work);
    }

    void pay() throws SQLException {
        run("UPDATE account SET balance = balance - 10 WHERE id = 1");
    }

    /** One item. The key of the one kind is a time, that of the other a text. */
    void settle(Item item, String wanted) throws SQLException {
        String key = name.equals("transfer") ? "?::timestamptz" : "?";
        String query = "SELECT answer FROM readpast.modify_%s_utx(%s, ?::timestamptz, ?, worker_ => ?, attempt_num_ => ?)"
                .formatted(name, key);
        same(all(query, item.key(), item.token(), item.status(), WORKER, item.attempt()), List.of(wanted));
    }

    void settleSet(String operation, Item item, String... wanted) throws SQLException {
        String query = "SELECT answer FROM readpast.modify_%s_set_utx(?::uuid, ?, ?::json) ORDER BY answer_ordinal"
                .formatted(name);
        same(all(query, operation, WORKER, "[" + item.json() + "]"), List.of(wanted));
    }

    void addSet(String operation, List<String> works, String... wanted) throws SQLException {
        String items = works.stream()
                .map(work -> "{\"columns\": {\"amount\": 10, \"work\": \"%s\"}}".formatted(work))
                .collect(Collectors.joining(", ", "[", "]"));
        String query = "SELECT answer FROM readpast.add_%s_set_utx(?::json, ?::uuid) ORDER BY answer_ordinal".formatted(name);
        same(all(query, items, operation), List.of(wanted));
    }

    void isDone(String operation, boolean wanted) throws SQLException {
        same(all("SELECT answer FROM readpast.queue_is_done(?::uuid)", operation).get(0).equals("OK"), wanted);
        connection.commit();
    }

    /** The balance, and the states of all items: as another connection sees them. */
    void everything(String balance, String... wanted) throws SQLException {
        String states = name.equals("transfer")
                ? "SELECT status FROM readpast.transfer ORDER BY 1"
                : "SELECT item_status FROM readpast.worker_notice_v ORDER BY 1";
        try (Given other = new Given(name)) {
            same(other.all("SELECT balance FROM account"), List.of(balance));
            same(other.all(states), Arrays.asList(wanted));
        }
    }

    static void same(Object found, Object wanted) {
        if (!found.equals(wanted)) {
            throw new AssertionError(found + ", not " + wanted);
        }
    }
}
