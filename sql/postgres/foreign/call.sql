/* A function that somebody wrote by hand. The session's time zone is UTC; the database has its own. */
SELECT m.*
FROM (SELECT s.reset_val AS zone FROM pg_catalog.pg_settings AS s WHERE s.name = 'TimeZone') AS r
CROSS JOIN LATERAL {{ procedure }}(
{%- include "part/foreign_arguments.sql" %}
) AS m
