{%- import "macro/lifeline.sql" as lifeline -%}
{% filter made("FUNCTION", "queue_lifeline_take") %}
/*
The session takes the lock of its worker, beside the other sessions of that process. The server frees it with the last of them. A
recovery that has it just now takes the worker's items, and is waited for. The lock was free before: that counts no more.
Table access order: queue_lifeline.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_lifeline_take") }}(queue_ text, worker_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_lock_shared({{ lifeline.lock("worker_") }});
    /* To the session itself its own lock looks free. */
    PERFORM set_config('readpast.lifeline', worker_, FALSE);
    UPDATE {{ object("queue_lifeline") }} AS f
    SET free_since = NULL
    WHERE f.queue = queue_ AND f.worker = worker_ AND f.free_since IS NOT NULL;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_lifeline_take") }}(text, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_lifeline_look") %}
/*
One of all who look or claim notes whose locks are free, twice a second at most, and has recovery come at once where one has been
free for the grace of its worker: TRUE. Nobody waits here, and no lock is kept.
Called by the functions of a queue.
Table access order: queue_recovery, then queue_lifeline, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_lifeline_look") }}(queue_ text, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    workers_ text[];
    free_ text[];
BEGIN
    IF NOT EXISTS (SELECT 1 FROM {{ object("queue_lifeline") }} AS f WHERE f.queue = queue_) THEN RETURN FALSE;
    END IF;
    UPDATE {{ object("queue_recovery") }} AS r
    SET looked_at = now_
    FROM (
        SELECT d.queue
        FROM {{ object("queue_recovery") }} AS d
        WHERE d.queue = queue_ AND d.looked_at NOT BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE r.queue = d.queue;
    IF NOT FOUND THEN RETURN FALSE;
    END IF;

    workers_ := ARRAY(
        SELECT o.worker FROM {{ object("queue_lifeline") }} AS o WHERE o.queue = queue_ AND o.server_began = pg_postmaster_start_time()
    );
    /* A statement of its own, in which there is no table: Citus would have another node try the locks, or keep what it finds in a file. */
    free_ := ARRAY(
        SELECT w.worker
        FROM UNNEST(workers_) AS w (worker)
        WHERE
            CASE
                WHEN w.worker = current_setting('readpast.lifeline', TRUE) THEN FALSE
                WHEN pg_try_advisory_lock({{ lifeline.lock("w.worker") }}) THEN pg_advisory_unlock({{ lifeline.lock("w.worker") }})
                ELSE FALSE
            END
    );
    UPDATE {{ object("queue_lifeline") }} AS f
    SET free_since = CASE WHEN f.worker = ANY (free_) THEN now_ END
    FROM (
        SELECT k.worker
        FROM {{ object("queue_lifeline") }} AS k
        WHERE k.queue = queue_ AND k.worker = ANY (workers_) AND (k.free_since IS NULL) = (k.worker = ANY (free_))
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS l
    WHERE f.queue = queue_ AND f.worker = l.worker;

    PERFORM
    FROM {{ object("queue_lifeline") }} AS f
    WHERE
        f.queue = queue_ AND {{ lifeline.is_dead("f") }};
    IF NOT FOUND THEN RETURN FALSE;
    END IF;
    UPDATE {{ object("queue_recovery") }} AS r SET recovered_at = '-infinity' WHERE r.queue = queue_ AND r.recovered_at > '-infinity';
    RETURN TRUE;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_lifeline_look") }}(text, timestamptz) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_lifeline_seize") %}
/*
A worker that is dead, if there is one: its lock is the caller's to the end of its transaction, so that no session of that worker
comes back while its items are taken.
Called by the functions of a queue.
Table access order: queue_lifeline.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_lifeline_seize") }}(queue_ text, now_ timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    worker_ text;
BEGIN
    FOR worker_ IN
        SELECT f.worker
        FROM {{ object("queue_lifeline") }} AS f
        WHERE
            f.queue = queue_ AND {{ lifeline.is_dead("f") }}
            AND f.worker IS DISTINCT FROM current_setting('readpast.lifeline', TRUE)
        ORDER BY f.worker
    LOOP
        IF pg_try_advisory_xact_lock({{ lifeline.lock("worker_") }}) THEN RETURN worker_;
        END IF;
    END LOOP;
    RETURN NULL;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_lifeline_seize") }}(text, timestamptz) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_recovery_goes_on") %}
/*
There may be more items of dead workers: the next who comes goes on at once. All of dead_ are given back, if it is given.
Called by the functions of a queue.
Table access order: queue_recovery, then queue_lifeline, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_recovery_goes_on") }}(queue_ text, dead_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    UPDATE {{ object("queue_recovery") }} AS r
    SET recovered_at = '-infinity'
    FROM (
        SELECT d.queue FROM {{ object("queue_recovery") }} AS d WHERE d.queue = queue_ FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE r.queue = d.queue;
    DELETE FROM {{ object("queue_lifeline") }} AS f
    USING (
        SELECT d.worker FROM {{ object("queue_lifeline") }} AS d WHERE d.queue = queue_ AND d.worker = dead_ FOR UPDATE SKIP LOCKED
    ) AS d
    WHERE f.queue = queue_ AND f.worker = d.worker;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_recovery_goes_on") }}(text, text) FROM public;
{% endfilter %}
