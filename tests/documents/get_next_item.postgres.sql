-- The procedure of the fifth document, translated: an update lock is FOR UPDATE, and what a procedure selects a function returns.
CREATE FUNCTION GetNextItemInQueue(LockedBy_ varchar(75)) RETURNS TABLE (RequestId integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    PendingStatus_ CONSTANT integer := 1;
    MinutesBeforeBreakLock_ CONSTANT integer := 30;
    RequestId_ integer;
    LocalNow_ CONSTANT timestamp := CLOCK_TIMESTAMP() AT TIME ZONE (
        SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'
    );
BEGIN
    SELECT q.RequestId INTO RequestId_
    FROM Queue AS q
    WHERE q.Status = PendingStatus_
    AND (q.LockedTime IS NULL OR q.LockedTime <= LocalNow_ - MinutesBeforeBreakLock_ * INTERVAL '1 minute')
    ORDER BY q.RequestedTime ASC
    LIMIT 1
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;

    UPDATE Queue
    SET LockedBy = LockedBy_, LockedTime = LocalNow_
    WHERE Queue.RequestId = RequestId_;

    RETURN QUERY SELECT RequestId_;
END;
$$;
