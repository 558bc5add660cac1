/* A procedure that somebody wrote by hand, and what it returned. The first result is one that always has rows. */
DECLARE @Returned int;
{%- include "part/foreign_declare.sql" %}
SELECT 1 AS [Begun];
{% include "part/foreign_execute.sql" %}
