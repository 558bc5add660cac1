import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;

final class Transfer {
    private static final String CLAIM = "SELECT answer_key, answer_token, answer_attempt, amount"
            + " FROM readpast.next_transfer_set_trx(?, 1) WHERE answer_key IS NOT NULL";
    private static final String PAY = "UPDATE account SET balance = balance - ? WHERE id = 1";
    private static final String ADD = "SELECT readpast.add_notice_utx(amount_ => ?)";
    private static final String SETTLE = "SELECT answer FROM readpast.modify_transfer_utx(?, ?, 'Completed',"
            + " worker_ => ?, attempt_num_ => ?)";

    /** Somebody else has the item now: our work is undone. */
    static final class LostException extends SQLException {
        private static final long serialVersionUID = 1;
    }

    /** Whether an item was due and is done. The connection has setAutoCommit(false): the claim is committed by itself. */
    static boolean transfer(Connection connection, String worker) throws SQLException {
        try (PreparedStatement claim = connection.prepareStatement(CLAIM);
                PreparedStatement pay = connection.prepareStatement(PAY);
                PreparedStatement add = connection.prepareStatement(ADD);
                PreparedStatement settle = connection.prepareStatement(SETTLE)) {
            claim.setString(1, worker);
            ResultSet item = claim.executeQuery();
            boolean isDue = item.next();
            connection.commit();
            if (!isDue) {
                return false;
            }
            pay.setInt(1, item.getInt("amount"));
            pay.executeUpdate();
            add.setInt(1, item.getInt("amount"));
            add.execute();
            settle.setObject(1, item.getObject("answer_key", OffsetDateTime.class));
            settle.setObject(2, item.getObject("answer_token", OffsetDateTime.class));
            settle.setString(3, worker);
            settle.setInt(4, item.getInt("answer_attempt"));
            ResultSet answer = settle.executeQuery();
            if (!answer.next() || !answer.getString(1).equals("OK")) {
                throw new LostException();
            }
            connection.commit();
            return true;
        } catch (SQLException error) {
            connection.rollback();
            throw error;
        }
    }

    private Transfer() {}
}
