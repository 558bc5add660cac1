/* What a status means, in one place. Re-created by every install. */
CREATE OR REPLACE FUNCTION {{ object("queue_is_processable_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can this item be picked up for processing? */
    SELECT status IN ('Pending', 'Paused', 'Error');
$$;
GO
CREATE OR REPLACE FUNCTION {{ object("queue_is_finished_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Is this item in a terminal state? */
    SELECT status NOT IN ('Pending', 'Processing', 'Error', 'Paused');
$$;
GO
CREATE OR REPLACE FUNCTION {{ object("queue_is_editable_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can a worker write response and error data to this item? */
    SELECT status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted');
$$;
GO
