{%- set its = namespace(status="v.item_status", type="v.item_type", error="v.item_error", changed="COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at)") %}
{%- set its.ran = ["v.item_started_at", "v.item_duration"] %}
{%- if not beside %}
{%- set its.status = m.of("status") %}{% set its.type = m.of("type") %}{% set its.error = m.of("error") %}{% set its.changed = m.of("token") %}
{%- set its.ran = [m.of("started_at"), m.of("duration")] %}
{%- endif %}
            AND (statuses_ IS NULL OR {{ its.status }} = ANY(statuses_))
            AND (types_ IS NULL OR {{ its.type }} = ANY(types_))
            AND (before_ IS NULL OR {{ its.changed }} < before_)
            AND (since_ IS NULL OR {{ its.changed }} >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN {{ its.status }} = 'Processing' THEN {{ m.ms(its.ran[0], "clock_timestamp()") }}
                    ELSE {{ its.ran[1] }}
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS({{ its.error }}, part_) > 0)
