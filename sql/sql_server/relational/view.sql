/* All that a worker may see of {{ queue }}. */
CREATE OR ALTER VIEW {{ object("Worker_" ~ queue ~ "_V") }}
AS
SELECT
    q.[EnqueuedAt],
    q.[Type],
    q.[Status],
    q.[Step],
    q.[AttemptNum],
    q.[Response],
    q.[Error],
    q.[StartedAt],
    q.[Duration],
    q.[ScheduledFor],
    q.[UpdatedAt],
    q.[LeaseOwner],
    q.[LeaseUntil]{% for column in columns %},
    q.{{ column.quoted }}{% endfor %}
FROM {{ object(queue) }} AS q
{%- if own_types_only %}
WHERE {% include "relational/_own_type.sql" %}
{%- endif -%}
;
GO
