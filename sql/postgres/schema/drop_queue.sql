{#- Statements that take a queue away again: `goes` is what its script made, last first, but for what stays. -#}
{%- if locked %}
{% filter statement %}
/* Calls that are under way come to their end first; those that follow find the queue gone. */
DO $$
DECLARE
    table_ regclass;
BEGIN
    FOREACH table_ IN ARRAY ARRAY[
{%- for name in locked %}
        TO_REGCLASS({{ text(name) }}){{ "," if not loop.last }}
{%- endfor %}
    ]
    LOOP
        IF table_ IS NOT NULL THEN
            EXECUTE FORMAT('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', table_);
        END IF;
    END LOOP;
END;
$$;
{% endfilter %}
{%- endif %}
{%- for key in keys %}
{% filter statement %}
/* The table stays; what it refers to does not. */
ALTER TABLE {{ key.table }} DROP CONSTRAINT IF EXISTS {{ key.name }};
{% endfilter %}
{%- endfor %}
{%- for object in goes %}
{% filter statement %}
DROP {{ object.kind }} IF EXISTS {{ object.qualified }};
{% endfilter %}
{%- endfor %}
{%- for grant in grants %}
{% filter statement %}
{%- if loop.first %}
/* No other queue has given these rights. The roles stay: who is in them is not known here. */
{%- endif %}
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = {{ text(grant.role_name) }}) THEN
{%- if grant.on %}
        REVOKE {{ grant.right }} ON {{ "FUNCTION " if grant.right == "EXECUTE" }}{{ grant.on }} FROM {{ grant.role }};
{%- else %}
        REVOKE USAGE ON SCHEMA {{ schema }} FROM {{ grant.role }};
{%- endif %}
    END IF;
END;
$$;
{% endfilter %}
{%- endfor %}
{% filter statement %}
/* Nobody goes on with an action on items that are gone, nor on those of a later queue of the name. */
UPDATE {{ object("queue_action") }}
SET state = 'Cancelled', ended_at = transaction_timestamp(), lease_until = NULL, result = 'the queue was dropped'
WHERE queue = {{ text(queue) }} AND ended_at IS NULL;
{% endfilter %}
{%- for rows in [
    "queue_recovery", "queue_type_access", "queue_refused", "queue_sleeper", "queue_awaited", "queue_worker", "queue_lifeline", "queue_minute",
    "queue_pause"
] + first_needed %}
{% filter statement %}
DELETE FROM {{ object(rows) }} WHERE queue {% if rows == "queue_turn" %}IN ({{ text(queue) }}, {{ text(queue ~ " add") }}){% else %}= {{ text(queue) }}{% endif %};
{% endfilter %}
{%- endfor %}
{%- if setting %}
{% filter statement %}
DELETE FROM {{ object("app_settings") }}
WHERE
    LEFT(param, {{ setting | length + 1 }}) = {{ text(setting ~ ".") }}
    AND STRPOS(SUBSTR(param, {{ setting | length + 2 }}), '.') = 0;
{% endfilter %}
{%- endif %}
{% filter statement %}
DELETE FROM {{ object("queue_spec") }} WHERE queue = {{ text(name) }};
{% endfilter %}
{% filter statement %}
/* A queue of this name that is made anew has done none of these calls. */
DELETE FROM {{ object("queue_operation") }}
WHERE call IN ('add_{{ queue }}_set_trx', 'modify_{{ queue }}_set_trx', 'redrive_{{ queue }}_set_trx');
{% endfilter %}
