/*
A function that somebody wrote by hand. Before it, whether the token is the item's, as it was when the statement began:
a function that finds it is not changes nothing, and may not say so. The session's time zone is UTC; the database has
its own.
*/
SELECT b.fits, m.*
FROM (
    SELECT
        (
            SELECT (v.{{ token }} = ?::{{ token_type }})::integer
            FROM {{ view }} AS v
            WHERE v.{{ key }} = ?::{{ key_type }}
        ) AS fits
) AS b
CROSS JOIN (SELECT s.reset_val AS zone FROM pg_catalog.pg_settings AS s WHERE s.name = 'TimeZone') AS r
LEFT JOIN LATERAL {{ procedure }}(
{%- include "part/foreign_arguments.sql" %}
) AS m ON TRUE
