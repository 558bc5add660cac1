package readpast.data;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;

/** Items as the procedures take them: a JSON array. */
final class Json {
    /** In UTC, since SQL Server's procedures read no offset, and with the seven digits that its columns keep. */
    private static final DateTimeFormatter MOMENT = new DateTimeFormatterBuilder()
            .appendPattern("uuuu-MM-dd'T'HH:mm:ss")
            .appendFraction(ChronoField.NANO_OF_SECOND, 0, 7, true)
            .appendLiteral('Z')
            .toFormatter(Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private final StringBuilder text = new StringBuilder();

    static String of(List<NewItem> items) {
        Json json = new Json();
        json.value(items.stream().map(Json::member).toList());
        return json.text.toString();
    }

    private static Map<String, Object> member(NewItem item) {
        Map<String, Object> member = new LinkedHashMap<>();
        member.put("type", item.type());
        member.put("step", item.step());
        member.put("due", item.due());
        member.put("delay_ms", item.delay() == null ? null : milliseconds(item.delay()));
        member.put("after", item.after().isEmpty() ? null : item.after());
        member.put("on_failed", item.after().isEmpty() ? null : item.onFailed());
        member.values().removeIf(value -> value == null);
        member.put("columns", item.columns());
        return member;
    }

    /** A part of a millisecond counts as a whole one: a short wait is not none. */
    private static long milliseconds(Duration delay) {
        return delay.plusNanos(999_999).toMillis();
    }

    private void value(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long || value instanceof Short) {
            text.append(value);
        } else if (value instanceof Double || value instanceof Float) {
            if (!Double.isFinite(((Number) value).doubleValue())) {
                throw new IllegalArgumentException("a column cannot hold " + value);
            }
            text.append(value);
        } else if (value instanceof Map<?, ?> map) {
            object(map);
        } else if (value instanceof List<?> list) {
            list(list);
        } else {
            string(written(value));
        }
    }

    /** A value that JSON has no form for, as the text that the procedures take. A decimal as text keeps all its digits. */
    private static String written(Object value) {
        if (value instanceof BigDecimal decimal) {
            return decimal.toPlainString();
        }
        if (value instanceof OffsetDateTime time) {
            return moment(time.toInstant());
        }
        if (value instanceof ZonedDateTime time) {
            return moment(time.toInstant());
        }
        if (value instanceof Instant time) {
            return moment(time);
        }
        // java.sql.Date and Time are dates and times of day, and have no instant.
        if (value instanceof java.sql.Date || value instanceof java.sql.Time) {
            return value.toString();
        }
        if (value instanceof Date time) {
            return moment(time.toInstant());
        }
        if (value instanceof byte[] bytes) {
            return Base64.getEncoder().encodeToString(bytes);
        }
        if (value instanceof Enum<?> constant) {
            return constant.name();
        }
        if (value instanceof CharSequence || value instanceof Character || value instanceof UUID || value instanceof LocalDate
                || value instanceof LocalTime || value instanceof BigInteger) {
            return value.toString();
        }
        throw new IllegalArgumentException("a column cannot hold a " + value.getClass().getName()
                + "; a time needs a zone, since nobody else knows which hour it means");
    }

    private static String moment(Instant time) {
        return MOMENT.format(time);
    }

    private void object(Map<?, ?> map) {
        text.append('{');
        String before = "";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            text.append(before);
            string(String.valueOf(entry.getKey()));
            text.append(':');
            value(entry.getValue());
            before = ",";
        }
        text.append('}');
    }

    private void list(List<?> list) {
        text.append('[');
        String before = "";
        for (Object each : list) {
            text.append(before);
            value(each);
            before = ",";
        }
        text.append(']');
    }

    private void string(String value) {
        text.append('"');
        value.codePoints().forEach(point -> {
            if (point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE) {
                throw new IllegalArgumentException("a text is no Unicode: it has half a character");
            }
            if (point == '"' || point == '\\') {
                text.append('\\').append((char) point);
            } else if (point < ' ') {
                text.append("\\u%04x".formatted(point));
            } else {
                text.appendCodePoint(point);
            }
        });
        text.append('"');
    }
}
