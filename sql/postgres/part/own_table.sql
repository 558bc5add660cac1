{%- if after %}
{% include "part/after_table.sql" %}
{%- endif %}
{% filter made("TYPE", queue ~ "_type") %}
/* {{ queue }}: the items. A row is both a domain record and a work item. */
DO $$
BEGIN
    IF TO_REGTYPE({{ literal(queue ~ "_type") }}) IS NULL THEN
        CREATE DOMAIN {{ object(queue ~ "_type") }} AS text;
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
ALTER DOMAIN {{ object(queue ~ "_type") }} DROP CONSTRAINT IF EXISTS {{ queue }}_is_discriminated;
{% endfilter %}
{% filter statement %}
ALTER DOMAIN {{ object(queue ~ "_type") }} ADD CONSTRAINT {{ queue }}_is_discriminated CHECK (
    VALUE IN (
{%- for type in types %}
        {{ text(type) }}{{ "," if not loop.last }}
{%- endfor %}
    )
) NOT VALID;
{% endfilter %}
{% filter made("SEQUENCE", queue ~ "_seq") %}
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
CREATE SEQUENCE IF NOT EXISTS {{ object(queue ~ "_seq") }} AS bigint CACHE 1;
{% endfilter %}
{%- for kept in ["items"] + (["history"] if history_table else []) %}
{%- set here = kept == "items" %}
{% filter made("TABLE", place if here else history_place) %}
{%- if not here %}
/* Completed items are moved here. */
{%- endif %}
CREATE TABLE IF NOT EXISTS {{ table if here else history_table }} (
    enqueued_at timestamptz NOT NULL,
    type {{ object(queue ~ "_type") if here else "text" }} NOT NULL,
    status {{ object("queue_state") if here else "text" }} NOT NULL,
    step text NULL, attempt_num integer NOT NULL,
    response text NULL{{ " DEFAULT ''" if here }},
    error text NULL{{ " DEFAULT ''" if here }},
    started_at timestamptz NULL, duration bigint NULL, scheduled_for timestamptz NOT NULL,
    updated_at timestamptz NOT NULL, lease_owner text NULL, lease_until timestamptz NULL,
{%- if here %}
    /* The claim that took it, for a caller that lost its answer. Below zero: it goes alone. */
    claim_num bigint NULL,
{%- endif %}
{%- for column in columns %}
    {{ of.declared(column) if here else of.history(column) }},
{%- endfor %}{% if here %}{{ of.constraints(columns) }}{% endif %}
    {{ "CONSTRAINT " ~ queue ~ "_pk " if here }}PRIMARY KEY (enqueued_at)
)
{%- if here %}
/* Room on each page keeps renewals on it; finished versions are cleared before they slow the claim down. */
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)
{%- endif -%}
;
{% endfilter %}
{%- endfor %}
{% filter statement %}
/* A table of an earlier state has no place yet for the number of a claim. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = {{ literal(queue) }}::regclass AND a.attname = 'claim_num' AND NOT a.attisdropped
    )
    THEN
        ALTER TABLE {{ table }} ADD COLUMN claim_num bigint NULL;
    END IF;
END;
$$;
{% endfilter %}
