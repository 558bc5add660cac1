{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- set procedure = "retain_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- if retention or attempt_retention %}
{% filter statement %}
/* The row that a deleting call locks. */
INSERT INTO {{ object("queue_retention") }} (queue, done_at) VALUES ('{{ queue }}', '-infinity') ON CONFLICT DO NOTHING;
{% endfilter %}
{% filter made("FUNCTION", procedure) %}
/*
Delete up to max_ items that ended longer ago than the description lets them stay:
{%- for rule in retention %} {{ rule.state }} after {{ rule.seconds }} s{{ "," if not loop.last else "." }}{% endfor %}
{%- if attempt_retention %}
Remembered attempts go {{ attempt_retention }} s after their end, each of them one more within max_.
{%- endif %}
Workers call it again and again; it does something once in interval_ms_, and then with each call until nothing is over, for one
caller at a time. It takes no other terms than these, so each login that may claim may call it. One row: purged, and how many
it were; 0 when it was not the caller's turn or nothing is over.
Table access order: queue_retention, passed over when somebody holds the row{{ "; then as purge_" ~ queue ~ "_trx" if retention }}{{ "; then " ~ queue ~ "_attempt" if attempt_retention }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(interval_ms_ integer DEFAULT 60000, max_ integer DEFAULT 250)
RETURNS TABLE (name text, value bigint)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    purged_ integer := 0;
{%- if attempt_retention %}
    forgotten_ integer;
{%- endif %}
BEGIN
{{- check.checks(procedure, ["most"]) }}
    IF (interval_ms_ < 0) IS NOT FALSE THEN
        RAISE EXCEPTION '{{ procedure }}: interval_ms_ must be 0 or more' USING ERRCODE = 'RP021';
    END IF;
    PERFORM 1
    FROM {{ object("queue_retention") }} AS r
    WHERE
        r.queue = '{{ queue }}'
        /* A time to come is of a clock that was ahead. */
        AND NOT (r.done_at > now_ - interval_ms_ * interval '1 ms' AND r.done_at <= now_ + interval_ms_ * interval '1 ms')
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'purged', 0::bigint;
        RETURN;
    END IF;
{%- for rule in retention %}

    IF purged_ < max_ THEN
        purged_ := purged_ + (
            SELECT p.value
            FROM {{ object("purge_" ~ queue ~ "_trx") }}(
                JSON_BUILD_OBJECT(
                    'status', JSON_BUILD_ARRAY('{{ rule.state }}'),
                    'before', (now_ - {{ rule.seconds }} * interval '1 s')::text
                ),
                max_ - purged_
            ) AS p
        );
    END IF;
{%- endfor %}
{%- if attempt_retention %}

    IF purged_ < max_ THEN
        /* Passed over: of an item that somebody else deletes, with all that is remembered of it. */
        WITH old AS MATERIALIZED (
            SELECT
                {{ m.list("a.key_") }},
                a.number
            FROM {{ object(queue ~ "_attempt") }} AS a
            WHERE a.ended_at < now_ - {{ attempt_retention }} * interval '1 s'
            ORDER BY a.ended_at
            LIMIT max_ - purged_
            FOR UPDATE SKIP LOCKED
        )
        DELETE FROM {{ object(queue ~ "_attempt") }} AS a
        USING old AS o
        WHERE
            {{ m.attempt_at_key("o.key_") }}
            AND a.number BETWEEN o.number AND o.number;
        GET DIAGNOSTICS forgotten_ = ROW_COUNT;
        purged_ := purged_ + forgotten_;
    END IF;
{%- endif %}

    IF purged_ < max_ THEN
        /* All is done. Else the next call goes on. */
        UPDATE {{ object("queue_retention") }} AS r
        SET done_at = now_
        WHERE r.queue = '{{ queue }}';
    END IF;

    RETURN QUERY SELECT 'purged', purged_::bigint;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer, integer) FROM public;
{% endfilter %}
{%- endif %}
