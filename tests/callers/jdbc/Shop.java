import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import readpast.data.Readpast;

final class Shop {
    /** Orders, and puts the notice about it in, in the one transaction that the caller commits. */
    static int checkOut(Connection connection, int customer, int amount) throws SQLException {
        String insert = "INSERT INTO orders (customer, amount) VALUES (?, ?) RETURNING id";
        try (PreparedStatement order = connection.prepareStatement(insert)) {
            order.setInt(1, customer);
            order.setInt(2, amount);
            ResultSet row = order.executeQuery();
            row.next();
            int id = row.getInt(1);
            Readpast.queue("Notice").enqueue(connection, Map.of("amount", amount, "work", "order " + id));
            return id;
        }
    }

    private Shop() {}
}
