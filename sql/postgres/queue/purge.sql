{%- import "macro/item.sql" as m -%}
{%- set procedure = "purge_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_{{ queue }}; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", " ~ queue ~ "_attempt" if attempt_history }}{{ ", " ~ queue ~ "_progress" if reports_alone }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- include "part/filter_variables.sql" %}
BEGIN
{% include "part/filter.sql" %}
{%- include "part/local_time.sql" %}
    f_.statuses := COALESCE(f_.statuses, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (SELECT 1 FROM UNNEST(f_.statuses) AS s (status) WHERE NOT {{ object("queue_is_finished_fn") }}(s.status)) THEN
        RAISE EXCEPTION '{{ procedure }}: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;
{% if beside %}
{%- include "part/purge_beside.sql" %}
{%- else %}
{%- for by in ["some", "ended", "all"] if own or by != "ended" %}
    {% if by == "some" %}IF keys_ IS NOT NULL THEN
    {%- elif by == "ended" %}ELSIF f_.statuses <@ ARRAY['Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted'] THEN
        /* They have an index of their own: what is completed is not read. */
    {%- else %}ELSE
    {%- endif %}
        SELECT {% for column in key %}ARRAY_AGG(w.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
        INTO {{ m.list("key_", "_") }}
        FROM (
            SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
{%- if by == "some" %}
            FROM (
                SELECT DISTINCT
{{- m.key_read("i.key") | indent(4) }}
                FROM UNNEST(keys_) AS i (key)
            ) AS k
            INNER JOIN {{ table }} AS q
                ON {{ m.at_key("k.key_") }}
{%- else %}
            FROM {{ table }} AS q
{%- endif %}
            WHERE
{%- if by == "ended" %}
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
{%- elif own and by == "all" %}
            /* An item that was enqueued later cannot have changed before. */
            q.enqueued_at < COALESCE(f_.before, 'infinity')
{%- else %}
            {{ m.is_its() }}
{%- endif %}
{%- include "part/fits.sql" %}
{%- if after %}
            AND {{ m.not_waited_for() }}
{%- endif %}
            ORDER BY {{ m.columns() }}
            LIMIT max_
            FOR UPDATE OF q SKIP LOCKED
        ) AS w;
{%- endfor %}
    END IF;
{%- if reports_alone %}

    /* Items that are gone from the table leave nothing behind; a report that has just come is of one that is there. */
    DELETE FROM {{ object(queue ~ "_progress") }} AS p
    USING (
        SELECT {{ m.list("g.key_") }}
        FROM {{ object(queue ~ "_progress") }} AS g
        WHERE
            g.reported_at < now_ - interval '10 minutes'
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE {{ m.at_key("g.key_") }}
            )
        ORDER BY {{ m.list("g.key_") }}
        LIMIT max_
        FOR UPDATE OF g SKIP LOCKED
    ) AS g
    WHERE {{ m.progress_at_key("g.key_") }};
{%- endif %}

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT {{ m.list("k.key_") }}{% for column in seek %}, q.{{ column.quoted }} AS seek_{{ loop.index }}{% endfor %}
        FROM {{ m.keys_unnested() }}
{%- if seek %}
        INNER JOIN {{ table }} AS q
            ON {{ m.at_key("k.key_") }}
{%- endif %}
    ),
{%- endif %}
{%- for subtype in subtypes if not own %}

    without_{{ loop.index }} AS (
        DELETE FROM {{ subtype.table }} AS u
        USING found AS f
        WHERE {{ m.subtype_at_key("f.key_") }}
    ),
{%- endfor %}

    purged AS (
        DELETE FROM {{ table }} AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE {{ m.at_found("f") }}
        RETURNING f.*
    )
{%- if beside %},

    dropped AS (
        DELETE FROM {{ object(queue ~ "_lease") }} AS s
        USING purged AS p
        WHERE {{ m.lease_at_key("p.key_") }}
    )
{%- endif %}
{%- if attempt_history %},

    forgotten AS (
        DELETE FROM {{ object(queue ~ "_attempt") }} AS a
        USING purged AS p
        WHERE {{ m.attempt_at_key("p.key_") }}
    )
{%- endif %}
{%- if reports_alone %},

    unreported AS (
        DELETE FROM {{ object(queue ~ "_progress") }} AS p
        USING purged AS d
        WHERE {{ m.progress_at_key("d.key_") }}
    )
{%- endif %}

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(json, integer) FROM public;
{% endfilter %}
