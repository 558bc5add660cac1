{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/*
The vocabulary and the book-keeping that every queue of this schema shares.
Table access order in all functions: queue_operation, then the queue's table, then queue_transition.
*/
CREATE SCHEMA IF NOT EXISTS {{ schema }};
GO
/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
DO $$
BEGIN
    IF TO_REGTYPE({{ literal("queue_state") }}) IS NULL THEN
        CREATE DOMAIN {{ object("queue_state") }} AS text CHECK (
            VALUE IN (
                'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated',
                'PartiallyCompleted'
            )
        );
    END IF;
END;
$$;
GO
/* One row per version that was applied here: an audit trail, never updated. */
CREATE TABLE IF NOT EXISTS {{ object("queue_schema_version") }} (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL,
    library text NOT NULL
);
GO
/* The queues of this schema, each with the specification it was rendered from. */
CREATE TABLE IF NOT EXISTS {{ object("queue_spec") }} (
    queue text PRIMARY KEY,
    preset text NOT NULL,
    spec text NOT NULL,
    rendered_by integer NOT NULL,
    installed_at timestamptz NOT NULL
);
GO
/* Settings that functions read, such as notification.maxAttempts. */
CREATE TABLE IF NOT EXISTS {{ object("app_settings") }} (
    param text PRIMARY KEY,
    val_int integer NULL,
    val_text text NULL
);
GO
CREATE TABLE IF NOT EXISTS {{ object("queue_status") }} (
    status {{ object("queue_state") }} PRIMARY KEY
);
GO
INSERT INTO {{ object("queue_status") }} (status)
VALUES
    ('Pending'),
    ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'),
    ('Cancelled'),
    ('Paused'),
    ('Terminated'),
    ('PartiallyCompleted')
ON CONFLICT DO NOTHING;
GO
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
CREATE TABLE IF NOT EXISTS {{ object("queue_transition") }} (
    from_status {{ object("queue_state") }} NOT NULL,
    to_status {{ object("queue_state") }} NOT NULL,
    PRIMARY KEY (from_status, to_status)
);
GO
INSERT INTO {{ object("queue_transition") }} (from_status, to_status)
VALUES
    ('Pending', 'Processing'),
    ('Pending', 'Failed'),
    ('Pending', 'Cancelled'),
    ('Pending', 'Paused'),
    ('Pending', 'Terminated'),
    ('Processing', 'Processing'),
    ('Processing', 'Pending'),
    ('Processing', 'Error'),
    ('Processing', 'Failed'),
    ('Processing', 'Completed'),
    ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'),
    ('Processing', 'Paused'),
    ('Processing', 'Terminated'),
    ('Error', 'Processing'),
    ('Error', 'Pending'),
    ('Error', 'Failed'),
    ('Error', 'Cancelled'),
    ('Error', 'Paused'),
    ('Error', 'Terminated'),
    ('Paused', 'Processing'),
    ('Paused', 'Pending'),
    ('Paused', 'Failed'),
    ('Paused', 'Cancelled'),
    ('Paused', 'Terminated')
ON CONFLICT DO NOTHING;
GO
/*
One row per call that changed items, written in the same transaction: whoever lost the answer asks again with the same
identity and gets the same answer instead of a second effect. Result holds what cannot be read back from the items.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_operation") }} (
    operation_id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    result json NULL
);
GO
CREATE INDEX IF NOT EXISTS queue_operation_at ON {{ object("queue_operation") }} (at);
GO
