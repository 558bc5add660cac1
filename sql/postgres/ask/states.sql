/* How many rows stand in which state, by the table itself; NULL for rows in no state. Reads all of it. */
SELECT s.state, COUNT(*) AS rows
FROM (
    SELECT
        CASE
{%- for encoding in encodings %}
            WHEN {% for c in encoding.conditions %}{{ " AND " if not loop.first }}q.{{ c.quoted }} {{ c.is }}{% else %}TRUE{% endfor %} THEN '{{ encoding.default }}'
{%- endfor %}
        END AS state
    FROM {{ table }} AS q
{%- for c in rows %}
    {{ "WHERE" if loop.first else "AND" }} q.{{ c.quoted }} {{ c.is }}
{%- endfor %}
) AS s
GROUP BY s.state
ORDER BY s.state
