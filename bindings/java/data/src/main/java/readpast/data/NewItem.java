package readpast.data;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * An item to enqueue. {@link #of} makes one that is due now; the methods below return it with something else besides.
 *
 * @param columns the values of the queue's own columns, by name in any case: texts, numbers, booleans, times of java.time with a zone,
 *     dates, UUIDs, enums, bytes, lists and maps, or null
 * @param type the kind of work, one of the queue's types; null: the first of them
 * @param step the step to begin with; null: none
 * @param delay the time until it is due, from now on the server's clock; a part of a millisecond counts as a whole one; null: due at due
 * @param due the time when it is due; null: now, or after delay
 * @param after the items for which it waits: keys (String) of items of the queue, places (Integer) of earlier items of the call, from 0
 *     on. Only in a queue whose description has after
 * @param onFailed its fate when one of them ends in another way than completed: fail, run or wait; null: fail
 */
public record NewItem(
        Map<String, ?> columns, String type, String step, Duration delay, Instant due, List<?> after, String onFailed) {
    /** Refuses a negative delay. */
    public NewItem {
        Objects.requireNonNull(columns, "columns");
        if (delay != null && delay.isNegative()) {
            throw new IllegalArgumentException("the delay is " + delay + "; it must not be negative");
        }
        after = after == null ? List.of() : List.copyOf(after);
    }

    /**
     * An item that is due now.
     *
     * @param columns the values of the queue's own columns
     * @return the item
     */
    public static NewItem of(Map<String, ?> columns) {
        return new NewItem(columns, null, null, null, null, null, null);
    }

    /**
     * The item with a type.
     *
     * @param other one of the queue's types
     * @return the item
     */
    public NewItem withType(String other) {
        return new NewItem(columns, other, step, delay, due, after, onFailed);
    }

    /**
     * The item with a step to begin with.
     *
     * @param other the step
     * @return the item
     */
    public NewItem withStep(String other) {
        return new NewItem(columns, type, other, delay, due, after, onFailed);
    }

    /**
     * The item, due after a time on the server's clock.
     *
     * @param other the time
     * @return the item
     */
    public NewItem withDelay(Duration other) {
        return new NewItem(columns, type, step, other, due, after, onFailed);
    }

    /**
     * The item, due at a time.
     *
     * @param other the time
     * @return the item
     */
    public NewItem withDue(Instant other) {
        return new NewItem(columns, type, step, delay, other, after, onFailed);
    }

    /**
     * The item, to wait for others.
     *
     * @param others keys and places
     * @param fate fail, run or wait, where one of them is not completed; null: fail
     * @return the item
     */
    public NewItem withAfter(List<?> others, String fate) {
        return new NewItem(columns, type, step, delay, due, others, fate);
    }
}
