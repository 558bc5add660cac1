{%- import "part/macros.sql" as m -%}
{%- set procedure = "purge_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_{{ queue }}; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", " ~ queue ~ "_attempt" if attempt_history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{%- include "part/filter_variables.sql" %}
{%- if beside %}
{%- include "part/key_variables.sql" %}
{%- endif %}
BEGIN
{% include "part/filter.sql" %}
{%- include "part/local_time.sql" %}
    statuses_ := COALESCE(statuses_, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT {{ object("queue_is_finished_fn") }}(s.status)
    )
    THEN
        RAISE EXCEPTION '{{ procedure }}: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;
{%- for by in ["ended", "all"] if own or by == "all" %}
{%- if by == "ended" %}

    IF keys_ IS NULL AND statuses_ <@ ARRAY['Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted'] THEN
    /* They have an index of their own: what is completed is not read. */
{%- elif own %}

    ELSE
{%- endif %}
{% if beside %}
{%- include "part/purge_beside.sql" %}
{%- else %}
    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT
{%- for column in seek %}
            q.{{ column.quoted }} AS seek_{{ loop.index }},
{%- endfor %}
{%- for column in key %}
            q.{{ column.quoted }} AS key_{{ loop.index }}{{ "," if not loop.last }}
{%- endfor %}
        FROM {{ table }} AS q
        WHERE
            (
                keys_ IS NULL
                OR ({{ m.columns() }}) IN (
                    SELECT {{ m.list("k.key_") }}
                    FROM (
                        SELECT
{{- m.key_read("i.key") }}
                        FROM UNNEST(keys_) AS i (key)
                    ) AS k
                )
            )
{%- if by == "ended" %}
            AND q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
{%- elif own %}
            /* An item that was enqueued later cannot have changed before. */
            AND q.enqueued_at < COALESCE(before_, 'infinity')
{%- endif %}
{% include "part/fits.sql" %}
        ORDER BY {{ m.columns() }}
        LIMIT max_
        FOR UPDATE SKIP LOCKED
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

    SELECT 'purged', COUNT(*) FROM purged;
{%- endfor %}
{%- if own %}

    END IF;
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(json, integer) FROM public;
{% endfilter %}
