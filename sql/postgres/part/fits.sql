{%- set its = namespace(status="v.item_status", type="v.item_type", error="v.item_error", changed="COALESCE(v.item_token, v.item_finished_at, v.item_enqueued_at)") %}
{%- if not beside %}
{%- set its.status = m.of("status") %}{% set its.type = m.of("type") %}{% set its.error = m.of("error") %}{% set its.changed = m.of("token") %}
{%- endif %}
            AND (statuses_ IS NULL OR {{ its.status }} = ANY(statuses_))
            AND (types_ IS NULL OR {{ its.type }} = ANY(types_))
            AND (before_ IS NULL OR {{ its.changed }} < before_)
            AND (since_ IS NULL OR {{ its.changed }} >= since_)
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS({{ its.error }}, part_) > 0)
