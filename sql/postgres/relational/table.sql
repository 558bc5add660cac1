/* {{ queue }}: the items. A row is both a domain record and a work item. */
DO $$
BEGIN
    IF TO_REGTYPE({{ literal(queue ~ "_type") }}) IS NULL THEN
        CREATE DOMAIN {{ object(queue ~ "_type") }} AS text;
    END IF;
END;
$$;
GO
/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
ALTER DOMAIN {{ object(queue ~ "_type") }} DROP CONSTRAINT IF EXISTS {{ queue }}_is_discriminated;
GO
ALTER DOMAIN {{ object(queue ~ "_type") }} ADD CONSTRAINT {{ queue }}_is_discriminated CHECK (
    VALUE IN (
{%- for type in types %}
        {{ text(type) }}{{ "," if not loop.last }}
{%- endfor %}
    )
) NOT VALID;
GO
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
CREATE SEQUENCE IF NOT EXISTS {{ object(queue ~ "_seq") }} AS bigint CACHE 1;
GO
CREATE TABLE IF NOT EXISTS {{ object(queue) }} (
    enqueued_at timestamptz NOT NULL,
    type {{ object(queue ~ "_type") }} NOT NULL,
    status {{ object("queue_state") }} NOT NULL,
    step text NULL,
    attempt_num integer NOT NULL,
    response text NULL DEFAULT '',
    error text NULL DEFAULT '',
    started_at timestamptz NULL,
    duration bigint NULL,
    scheduled_for timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    lease_owner text NULL,
    lease_until timestamptz NULL,
{%- for column in columns %}
    {{ column.quoted }} {{ column.type }} {{ "NULL" if column.nullable else "NOT NULL" }},
{%- endfor %}
    CONSTRAINT {{ queue }}_pk PRIMARY KEY (enqueued_at)
)
/* Room on each page keeps renewals on it; finished versions are cleared before they slow the claim down. */
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog.
*/
CREATE INDEX IF NOT EXISTS {{ queue }}_{{ "type_" if own_types_only }}due ON {{ object(queue) }} (
    {{- "type, " if own_types_only }}
    {%- for column in due_columns -%}
    {{ column.quoted }}{{ " DESC" if column.descending }}{{ ", " if not loop.last }}
    {%- endfor -%}
)
WHERE status IN ('Pending', 'Error');
GO
/* Recovery walks the items in flight, oldest claim first. lease_until is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS {{ queue }}_in_flight ON {{ object(queue) }} (started_at)
WHERE status = 'Processing';
GO
{%- if group %}
/* The claim asks here whether an item is the first unfinished one of its group, and whether one of it is in flight. */
CREATE INDEX IF NOT EXISTS {{ queue }}_group ON {{ object(queue) }} ({{ group }}, enqueued_at)
WHERE status IN ('Pending', 'Processing', 'Error', 'Paused');
GO
CREATE INDEX IF NOT EXISTS {{ queue }}_held ON {{ object(queue) }} ({{ group }})
WHERE status = 'Processing';
GO
{%- endif %}
{%- if dedup %}
/* What makes an item unique{{ " among the unfinished ones" if dedup.unfinished_only }}. */
CREATE UNIQUE INDEX IF NOT EXISTS {{ queue }}_work ON {{ object(queue) }} ({{ dedup.columns | join(", ") }})
{%- if dedup.unfinished_only %}
WHERE status IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif -%}
;
GO
{%- endif %}
{%- if history_name %}
/* What is completed is moved here. */
CREATE TABLE IF NOT EXISTS {{ object(history_name) }} (
    enqueued_at timestamptz NOT NULL,
    type text NOT NULL,
    status text NOT NULL,
    step text NULL,
    attempt_num integer NOT NULL,
    response text NULL,
    error text NULL,
    started_at timestamptz NULL,
    duration bigint NULL,
    scheduled_for timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    lease_owner text NULL,
    lease_until timestamptz NULL,
{%- for column in columns %}
    {{ column.quoted }} {{ column.type }} {{ "NULL" if column.nullable else "NOT NULL" }},
{%- endfor %}
    PRIMARY KEY (enqueued_at)
);
GO
{%- endif %}
{%- if subtypes %}
{% include "relational/_subtypes.sql" %}
{%- endif %}
{%- if group %}
/* What its claims lock in turn. */
INSERT INTO {{ object("queue_turn") }} (queue) VALUES ('{{ queue }}') ON CONFLICT DO NOTHING;
GO
{%- endif %}
