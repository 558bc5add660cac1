{%- import "macro/operator.sql" as operator -%}
{%- set by_owner -%}
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
{%- endset -%}
{% filter made("FUNCTION", "queue_pause_begin") %}
/*
Pauses a queue, or with type_ one type of it: nothing of it is claimed until it is resumed, or for_ms_ are over, or until_ is; items
that are added meanwhile wait too, and what is in work goes on. A pause that is there gets the new end and reason, and keeps since when
it is. Returns the end; NULL: there is none. Claims that are under way may still take items.
Table access order: queue_pause, queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_pause_begin") }}(
    queue_ text, type_ text, until_ timestamptz, for_ms_ bigint, who_ text, reason_ text
) RETURNS timestamptz
{{ by_owner }}
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    end_ CONSTANT timestamptz := COALESCE(until_, now_ + for_ms_ * interval '1 millisecond');
BEGIN
{{- operator.check("queue_pause_begin", "queue_") }}
    IF COALESCE(who_, '') = '' OR NOT isfinite(COALESCE(end_, now_)) OR end_ <= now_ OR LENGTH(type_) > 400 THEN
        RAISE EXCEPTION 'queue_pause_begin: %', CASE
            WHEN COALESCE(who_, '') = '' THEN 'who_ is empty'
            WHEN LENGTH(type_) > 400 THEN 'type_ is longer than 400 characters'
            ELSE 'the pause must end in the future'
        END
        USING ERRCODE = 'RP021';
    END IF;
    /* Those that are over; a pause of the same kind begins anew. */
    DELETE FROM {{ object("queue_pause") }} AS p WHERE p.queue = queue_ AND p.until <= now_;
    DELETE FROM {{ object("queue_refused") }} AS x WHERE x.queue = queue_ AND x.doing = 'pause' AND x.until <= now_;
    INSERT INTO {{ object("queue_pause") }} AS p (queue, type, since, until, who, login, reason)
    VALUES (queue_, COALESCE(type_, ''), now_, end_, LEFT(who_, 200), session_user, NULLIF(LEFT(reason_, 400), ''))
    ON CONFLICT (queue, type) DO UPDATE
    SET until = excluded.until, who = excluded.who, login = excluded.login, reason = excluded.reason;
    /* Claims look here anyhow, so that a queue without pauses pays nothing for them. */
    INSERT INTO {{ object("queue_refused") }} AS x (queue, key, doing, reason, times, attempts, since, until)
    VALUES (queue_, CHR(1) || COALESCE(type_, ''), 'pause', '', 0, 0, now_, COALESCE(end_, 'infinity'))
    ON CONFLICT (queue, key) DO UPDATE
    SET until = excluded.until;
    RETURN end_;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_pause_begin") }}(text, text, timestamptz, bigint, text, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_pause_end") %}
/*
Resumes a queue, or with type_ one type of it, and wakes those who sleep over it: the pauses of the queue and of each type are ended
one by one. Returns whether there was such a pause.
Table access order: queue_pause, queue_refused, queue_sleeper.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_pause_end") }}(queue_ text, type_ text) RETURNS boolean
{{ by_owner }}
AS $$
DECLARE
    until_ timestamptz;
BEGIN
{{- operator.check("queue_pause_end", "queue_") }}
    DELETE FROM {{ object("queue_pause") }} AS p
    WHERE p.queue = queue_ AND p.type = COALESCE(type_, '')
    RETURNING COALESCE(p.until, 'infinity') INTO until_;
    DELETE FROM {{ object("queue_refused") }} AS x WHERE x.queue = queue_ AND x.key = CHR(1) || COALESCE(type_, '');
    IF until_ IS NULL THEN RETURN FALSE;
    END IF;
    PERFORM {{ object("queue_ring") }}(s.queue)
    FROM (SELECT r.queue FROM {{ object("queue_sleeper") }} AS r WHERE r.queue = queue_) AS s;
    RETURN until_ > clock_timestamp();
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_pause_end") }}(text, text) FROM public;
{% endfilter %}
