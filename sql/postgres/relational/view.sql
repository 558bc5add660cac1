/* All that a worker may see of {{ queue }}. */
CREATE OR REPLACE VIEW {{ object("worker_" ~ queue ~ "_v") }} AS
SELECT
    q.enqueued_at,
    q.type::text AS type,
    q.status::text AS status,
    q.step,
    q.attempt_num,
    q.response,
    q.error,
    q.started_at,
    q.duration,
    q.scheduled_for,
    q.updated_at,
    q.lease_owner,
    q.lease_until{% for column in columns %},
    q.{{ column.quoted }}{% endfor %}
FROM {{ object(queue) }} AS q
{%- if own_types_only %}
WHERE {% include "relational/_own_type.sql" %}
{%- endif -%}
;
GO
