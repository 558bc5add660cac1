{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- if schedules is not none %}
{%- set procedure = "schedules_" ~ queue -%}
{% filter made("FUNCTION", procedure) %}
/*
The schedules of {{ queue }}, the next to fire first, with the server's time; with most_ only the first so many of those that fire. It
changes nothing.
Table access order: queue_schedule.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(most_ integer DEFAULT NULL)
RETURNS TABLE (
    name text, cron text, zone text, items text, missed text, overlap text, described boolean, enabled boolean, next_at bigint,
    last_at bigint, fired_at bigint, last_key text, last_answer text, now_ms bigint
)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT
        s.name, s.cron, s.zone, s.items::text, s.missed, s.overlap, s.described, s.enabled,
        DATE_PART('epoch', s.next_at)::bigint, DATE_PART('epoch', s.last_at)::bigint, FLOOR(DATE_PART('epoch', s.fired_at))::bigint,
        s.last_key, s.last_answer, FLOOR(DATE_PART('epoch', CLOCK_TIMESTAMP()) * 1000)::bigint
    FROM {{ object("queue_schedule") }} AS s
    WHERE s.queue = '{{ queue }}' AND (most_ IS NULL OR s.enabled)
    ORDER BY s.next_at NULLS FIRST, s.name
    LIMIT most_;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(integer) FROM public;
{% endfilter %}
{%- set procedure = "fire_" ~ queue ~ "_trx" -%}
{% filter made("FUNCTION", procedure) %}
/*
Moves a schedule from the planned time was_ to next_, and with adds_ puts its item in, due at was_, in the same commit: of all who call
at a time, one does it, whenever the others die. was_ NULL: no time is computed yet. next_ NULL: puts the item in now, and the planned
time stays.
Returns FIRED or DUPLICATE with the item's key; SKIPPED, when its last item is not over yet and it is not to overlap; MOVED; or GONE,
when another call has moved it, or it is off.
Table access order: queue_schedule, as add_{{ queue }}_set_trx.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(name_ text, was_ timestamptz, next_ timestamptz, adds_ boolean)
RETURNS TABLE (answer text, key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    schedule_ record;
    answer_ text;
    key_ text;
BEGIN
    UPDATE {{ object("queue_schedule") }} AS s
    SET next_at = COALESCE(next_, s.next_at)
    WHERE s.queue = '{{ queue }}' AND s.name = name_ AND (next_ IS NULL OR (s.enabled AND s.next_at IS NOT DISTINCT FROM was_))
    RETURNING s.items, s.overlap, s.last_key INTO schedule_;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'GONE', NULL::text;
        RETURN;
    END IF;
    IF NOT adds_ THEN
        RETURN QUERY SELECT 'MOVED', NULL::text;
        RETURN;
    END IF;

    IF
        schedule_.overlap = 'skip' AND schedule_.last_key IS NOT NULL
        AND EXISTS (
            SELECT 1
            FROM {{ object("find_" ~ queue) }}(
                json_build_object(
                    'keys', json_build_array(schedule_.last_key{{ "::json" if composite }}),
                    'status', json_build_array('Pending', 'Processing', 'Error', 'Paused')
                )
            ) AS f
            WHERE f.answer = 'FOUND'
        )
    THEN
        answer_ := 'SKIPPED';
    ELSE
        SELECT
            CASE a.answer WHEN 'OK' THEN 'FIRED' ELSE a.answer END,
            {{ m.shown_time("a.answer_key") ~ " || '0'" if own else "a.answer_key" }}
        INTO answer_, key_
        FROM {{ object("add_" ~ queue ~ "_set_trx") }}(
            NULL, json_build_array((schedule_.items -> 0)::jsonb || jsonb_build_object('due', COALESCE(was_, now_)))
        ) AS a;
    END IF;
    UPDATE {{ object("queue_schedule") }} AS s
    SET
        last_at = COALESCE(was_, now_), last_answer = answer_, last_key = COALESCE(key_, s.last_key),
        fired_at = CASE answer_ WHEN 'SKIPPED' THEN s.fired_at ELSE now_ END
    WHERE s.queue = '{{ queue }}' AND s.name = name_;
    RETURN QUERY SELECT answer_, key_;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(text, timestamptz, timestamptz, boolean) FROM public;
{% endfilter %}
{%- set procedure = "schedule_" ~ queue ~ "_trx" -%}
{% filter made("FUNCTION", procedure) %}
/*
Makes, changes or with remove_ removes a schedule of {{ queue }}. NULL leaves what is there; a new one needs cron_, zone_ and items_, a JSON
array of one item as add_{{ queue }}_set_trx takes it, without due and delay_ms. missed_ is once, each or skip; overlap_ is allow or skip. A
time that is planned stays, unless the rule changes or the schedule was off. The library checks rules and zones.
Returns ADDED, CHANGED, REMOVED or NOT_FOUND.
Table access order: queue_schedule.
*/
CREATE OR REPLACE FUNCTION {{ object(procedure) }}(
    name_ text, cron_ text DEFAULT NULL, zone_ text DEFAULT NULL, items_ json DEFAULT NULL, missed_ text DEFAULT NULL,
    overlap_ text DEFAULT NULL, enabled_ boolean DEFAULT NULL, remove_ boolean DEFAULT FALSE
)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    IF name_ IS NULL OR LENGTH(name_) NOT BETWEEN 1 AND 100 OR name_ LIKE '% ' THEN
        RAISE EXCEPTION '{{ procedure }}: name_ has from 1 to 100 characters, and no blank at its end' USING ERRCODE = 'RP021';
    END IF;
    IF LENGTH(cron_) > 200 OR LENGTH(zone_) > 64 THEN
        RAISE EXCEPTION '{{ procedure }}: cron_ has at most 200 characters, and zone_ 64' USING ERRCODE = 'RP021';
    END IF;
    IF missed_ NOT IN ('once', 'each', 'skip') OR overlap_ NOT IN ('allow', 'skip') THEN
        RAISE EXCEPTION '{{ procedure }}: missed_ is once, each or skip, and overlap_ is allow or skip' USING ERRCODE = 'RP021';
    END IF;
    IF items_ IS NOT NULL THEN
{{- check.takes(procedure, takes.add) | indent(4) }}
        IF json_array_length(items_) <> 1 OR items_ -> 0 ->> 'due' IS NOT NULL OR items_ -> 0 ->> 'delay_ms' IS NOT NULL THEN
            RAISE EXCEPTION '{{ procedure }}: items_ is an array of one item, without due and delay_ms' USING ERRCODE = 'RP021';
        END IF;
    END IF;
    IF remove_ THEN
        DELETE FROM {{ object("queue_schedule") }} AS s WHERE s.queue = '{{ queue }}' AND s.name = name_;
        RETURN CASE WHEN FOUND THEN 'REMOVED' ELSE 'NOT_FOUND' END;
    END IF;
    IF cron_ IS NOT NULL AND zone_ IS NOT NULL AND items_ IS NOT NULL THEN
        INSERT INTO {{ object("queue_schedule") }} AS s (queue, name, cron, zone, items, missed, overlap, described, enabled)
        VALUES (
            '{{ queue }}', name_, cron_, zone_, items_, COALESCE(missed_, 'once'), COALESCE(overlap_, 'allow'), FALSE, COALESCE(enabled_, TRUE)
        )
        ON CONFLICT DO NOTHING;
        IF FOUND THEN RETURN 'ADDED';
        END IF;
    END IF;
    UPDATE {{ object("queue_schedule") }} AS s
    SET
        next_at = CASE WHEN s.cron = COALESCE(cron_, s.cron) AND s.zone = COALESCE(zone_, s.zone) AND s.enabled THEN s.next_at END,
        cron = COALESCE(cron_, s.cron), zone = COALESCE(zone_, s.zone), items = COALESCE(items_, s.items),
        missed = COALESCE(missed_, s.missed), overlap = COALESCE(overlap_, s.overlap), enabled = COALESCE(enabled_, s.enabled)
    WHERE s.queue = '{{ queue }}' AND s.name = name_;
    RETURN CASE WHEN FOUND THEN 'CHANGED' ELSE 'NOT_FOUND' END;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(procedure) }}(text, text, text, json, text, text, boolean, boolean) FROM public;
{% endfilter %}
{% filter statement %}
/* The schedules of the description; those that were made at run time stay as they are. */
DELETE FROM {{ object("queue_schedule") }} AS s
WHERE s.queue = '{{ queue }}' AND s.described{% if schedules %} AND s.name NOT IN ({% for s in schedules %}{{ text(s.name) }}{{ ", " if not loop.last }}{% endfor %}){% endif %};
{% endfilter %}
{%- for s in schedules %}
{% filter statement %}
INSERT INTO {{ object("queue_schedule") }} AS s (queue, name, cron, zone, items, missed, overlap, described, enabled)
VALUES (
    '{{ queue }}', {{ text(s.name) }}, {{ text(s.cron) }}, {{ text(s.zone) }},
    {{ text(s.items) }},
    {{ text(s.missed) }}, {{ text(s.overlap) }}, TRUE, TRUE
)
ON CONFLICT (queue, name) DO UPDATE SET
    next_at = CASE WHEN s.cron = excluded.cron AND s.zone = excluded.zone THEN s.next_at END,
    cron = excluded.cron, zone = excluded.zone, items = excluded.items, missed = excluded.missed, overlap = excluded.overlap,
    described = TRUE;
{% endfilter %}
{%- endfor %}
{%- endif %}
