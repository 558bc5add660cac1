package readpast.data;

import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * An enqueued item, or one that was there already.
 *
 * @param key the key that it has now; of a duplicate, that of the item that was there, where the queue's dedup names it, else null
 * @param duplicate whether the same work was there already, by the queue's dedup, and nothing was added
 */
public record Receipt(String key, boolean duplicate) {
    private static final int ANSWER = 1;
    private static final int ORDINAL = 2;
    private static final int KEY = 4;

    /** As the library writes it: in UTC, with seven digits of a second. */
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSS", Locale.ROOT);

    static List<Receipt> all(ResultSet answer) throws SQLException {
        Map<Integer, Receipt> found = new TreeMap<>();
        while (answer.next()) {
            found.put(answer.getInt(ORDINAL), new Receipt(key(answer), "DUPLICATE".equals(answer.getString(ANSWER))));
        }
        return List.copyOf(found.values());
    }

    private static String key(ResultSet answer) throws SQLException {
        ResultSetMetaData columns = answer.getMetaData();
        switch (columns.getColumnTypeName(KEY).toLowerCase(Locale.ROOT)) {
            case "timestamptz", "datetimeoffset": {
                OffsetDateTime time = answer.getObject(KEY, OffsetDateTime.class);
                return time == null ? null : TIME.format(time.withOffsetSameInstant(ZoneOffset.UTC));
            }
            case "timestamp", "datetime", "datetime2", "smalldatetime": {
                LocalDateTime time = answer.getObject(KEY, LocalDateTime.class);
                return time == null ? null : TIME.format(time);
            }
            default:
                return answer.getString(KEY);
        }
    }
}
