{% if described -%}
SELECT b.head_key AS key, b.head_status AS status
FROM {{ object(queue ~ "_blocked_v") }} AS b
WHERE b.item_group::text = ?::text
{%- else -%}
SELECT b.enqueued_at AS key, b.status
FROM {{ object(queue ~ "_blocked_v") }} AS b
WHERE b.{{ group }}::text = ?::text
{%- endif %}
