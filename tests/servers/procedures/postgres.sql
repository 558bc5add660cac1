-- The queue of the document, translated: READPAST is SKIP LOCKED, an alias type is a domain, RAISERROR is RAISE.
CREATE DOMAIN queue_state AS text;
GO
CREATE TABLE app_settings (param text PRIMARY KEY, val_int integer);
GO
CREATE TABLE queue_status (status queue_state PRIMARY KEY);
GO
INSERT INTO queue_status (status)
VALUES ('Pending'), ('Processing'), ('Error'), ('Failed'), ('Completed'), ('Cancelled'), ('Paused'), ('Terminated'),
('PartiallyCompleted');
GO
CREATE FUNCTION queue_is_finished_fn(status queue_state) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT status NOT IN ('Pending', 'Processing', 'Error', 'Paused');
$$;
GO
CREATE FUNCTION queue_is_editable_fn(status queue_state) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted');
$$;
GO
CREATE TABLE notification (
    enqueued_at timestamp PRIMARY KEY,
    type text NOT NULL,
    status queue_state NOT NULL REFERENCES queue_status (status),
    step text,
    attempt_num integer NOT NULL,
    response text DEFAULT '',
    error text DEFAULT '',
    started_at timestamp,
    duration bigint,
    scheduled_for timestamp NOT NULL,
    updated_at timestamp NOT NULL
);
GO
CREATE TABLE notification_email (
    enqueued_at timestamp PRIMARY KEY REFERENCES notification (enqueued_at),
    email_to text NOT NULL,
    preferred_language text DEFAULT 'en'
);
GO
CREATE VIEW worker_notification_v AS
SELECT n.*, e.email_to, e.preferred_language
FROM notification AS n
LEFT JOIN notification_email AS e ON e.enqueued_at = n.enqueued_at;
GO
-- Local time, as the document has it: that of the database, whatever the session says.
CREATE FUNCTION sysdatetime() RETURNS timestamp LANGUAGE sql VOLATILE AS $$
    SELECT CLOCK_TIMESTAMP() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone');
$$;
GO
CREATE FUNCTION next_notification_trx() RETURNS TABLE (enqueued_at timestamp, updated_at timestamp)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    key_ timestamp;
    max_attempts_ integer := COALESCE((SELECT val_int FROM app_settings WHERE param = 'notification.maxAttempts'), 3);
BEGIN
    SELECT n.enqueued_at INTO key_
    FROM notification AS n
    WHERE n.status IN ('Pending', 'Error') AND n.scheduled_for <= sysdatetime() AND n.attempt_num < max_attempts_
    ORDER BY n.scheduled_for
    LIMIT 1
    FOR UPDATE SKIP LOCKED;
    IF key_ IS NULL THEN
        RETURN;
    END IF;
    UPDATE notification AS n
    SET status = 'Processing', updated_at = sysdatetime(), started_at = sysdatetime(), attempt_num = attempt_num + 1
    WHERE n.enqueued_at = key_;
    RETURN QUERY SELECT v.enqueued_at, v.updated_at FROM worker_notification_v AS v WHERE v.enqueued_at = key_;
END;
$$;
GO
CREATE FUNCTION modify_notification_trx(
    enqueued_at_ timestamp,
    updated_at_ timestamp,
    status_ queue_state,
    step_ text DEFAULT NULL,
    response_ text DEFAULT NULL,
    error_ text DEFAULT NULL,
    scheduled_for_ timestamp DEFAULT NULL
) RETURNS SETOF worker_notification_v
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    item notification%ROWTYPE;
    duration_ bigint;
    max_attempts_ integer := COALESCE((SELECT val_int FROM app_settings WHERE param = 'notification.maxAttempts'), 3);
BEGIN
    SELECT * INTO item FROM notification AS n WHERE n.enqueued_at = enqueued_at_;
    IF item IS NULL AND item.status IS NULL THEN
        RAISE EXCEPTION '50024 modify_notification_trx';
    END IF;
    IF queue_is_finished_fn(item.status)
        OR (NOT queue_is_editable_fn(item.status) AND (response_ IS NOT NULL OR error_ IS NOT NULL)) THEN
        RAISE EXCEPTION '50024 modify_notification_trx';
    END IF;
    IF item.attempt_num >= max_attempts_ AND status_ NOT IN ('Completed', 'Processing') THEN
        status_ := 'Failed';
    END IF;
    IF queue_is_finished_fn(status_) THEN
        duration_ := EXTRACT(EPOCH FROM sysdatetime() - item.started_at) * 1000;
    END IF;
    UPDATE notification AS n
    SET
        status = status_,
        step = COALESCE(step_, n.step),
        response = COALESCE(response_, n.response),
        error = COALESCE(error_, n.error),
        duration = COALESCE(duration_, n.duration),
        scheduled_for = COALESCE(scheduled_for_, n.scheduled_for),
        updated_at = sysdatetime()
    WHERE n.enqueued_at = enqueued_at_ AND n.updated_at = updated_at_;
    IF NOT FOUND THEN
        RAISE EXCEPTION '50005 modify_notification_trx: notification';
    END IF;
    RETURN QUERY SELECT v.* FROM worker_notification_v AS v WHERE v.enqueued_at = enqueued_at_;
END;
$$;
GO
CREATE FUNCTION add_notification_trx(type_ text, email_to_ text, scheduled_for_ timestamp DEFAULT NULL)
RETURNS TABLE (enqueued_at timestamp, updated_at timestamp)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    now_ timestamp := sysdatetime();
    key_ timestamp;
BEGIN
    LOCK TABLE notification_email IN SHARE ROW EXCLUSIVE MODE;
    key_ := GREATEST(now_, (SELECT MAX(n.enqueued_at) FROM notification AS n) + interval '1 microsecond');
    INSERT INTO notification (enqueued_at, type, status, attempt_num, scheduled_for, updated_at)
    VALUES (key_, type_, 'Pending', 0, COALESCE(scheduled_for_, now_), now_);
    INSERT INTO notification_email (enqueued_at, email_to) VALUES (key_, email_to_);
    RETURN QUERY SELECT key_, now_;
END;
$$;
GO
