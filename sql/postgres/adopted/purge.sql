{%- set procedure = "purge_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- set key_type = "text" -%}
{%- set keys -%}{% for column in key %}key_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is as for
find_{{ queue }}; without a status it means Completed, PartiallyCompleted, Cancelled and
Terminated. Failed items go only when they are
named, since somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over.
One row: purged, and how many it were.
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, max_ integer DEFAULT 1000
)
RETURNS TABLE (name text, value bigint)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{% include "relational/_filter_variables.sql" %}
{%- include "adopted/_key_variables.sql" %}
BEGIN
{% include "relational/_filter.sql" %}
{%- include "adopted/_local_time.sql" %}
    statuses_ := COALESCE(statuses_, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT {{ object("queue_is_finished_fn") }}(s.status)
    )
    THEN
        RAISE EXCEPTION '{{ procedure }}: only finished items can be purged; cancel or terminate others first'
        USING ERRCODE = 'RP021';
    END IF;

    /* Choose, then lock, then look again: only what is locked stays as it was found. */
{%- for case in ["some", "all"] %}
    {{ "IF keys_ IS NOT NULL THEN" if case == "some" else "ELSE" }}
        SELECT {% for column in key %}ARRAY_AGG(q.{{ column.quoted }}){{ ", " if not loop.last }}{% endfor %}
        INTO {{ keys }}
        FROM (
            SELECT {% for column in key %}v.item_key_{{ loop.index }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
{%- if case == "some" %}
            FROM (
                SELECT DISTINCT
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %}
                FROM UNNEST(keys_) AS i (key)
            ) AS k
            INNER JOIN LATERAL (
                {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
            ) AS v
                ON TRUE
{%- else %}
            FROM {{ object(queue ~ "_item_v") }} AS v
{%- endif %}
            WHERE
                TRUE
{% include "adopted/_fits.sql" %}
            ORDER BY {% set of = "v.item_key_" %}{% include "adopted/_key_list.sql" %}
            LIMIT max_
        ) AS w
        CROSS JOIN LATERAL (
            SELECT {% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}
            FROM {{ table }} AS q
            WHERE {% set of = "w.key_" %}{% include "adopted/_at_key.sql" %}
            FOR UPDATE SKIP LOCKED
        ) AS q;
{%- endfor %}
    END IF;

    /* What is gone from the table leaves nothing behind. */
    DELETE FROM {{ object(queue ~ "_lease") }} AS s
    USING (
        SELECT {% set of = "g.key_" %}{% include "adopted/_key_list.sql" %}
        FROM {{ object(queue ~ "_lease") }} AS g
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE {% include "adopted/_at_key.sql" %}
            )
        ORDER BY {% include "adopted/_key_list.sql" %}
        LIMIT max_
    ) AS g
    WHERE {% include "adopted/_lease_at_key.sql" %};

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}{% set of = "k.key_" %}{% include "adopted/_key_list.sql" %}
        FROM {% include "adopted/_keys_unnested.sql" %}
        INNER JOIN LATERAL (
            {% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        WHERE
            TRUE
{% include "adopted/_fits.sql" %}
    ),

    purged AS (
        DELETE FROM {{ table }} AS q
        USING found AS f
        WHERE {% set of = "f." -%}{% include "adopted/_at_found.sql" %}
        RETURNING f.*
    ),

    dropped AS (
        DELETE FROM {{ object(queue ~ "_lease") }} AS s
        USING purged AS p
        WHERE {% set of = "p.key_" -%}{% include "adopted/_lease_at_key.sql" %}
    )

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json, integer) FROM public;
GO
