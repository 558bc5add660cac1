/*
A procedure that somebody wrote by hand, and what it returned. Before it, whether the token is the item's: a procedure
that finds it is not changes nothing, and may not say so.
*/
DECLARE @Returned int;
{%- include "part/foreign_declare.sql" %}
SELECT CASE WHEN v.{{ token }} = @A{{ token_at }} THEN 1 ELSE 0 END AS [Fits]
FROM {{ view }} AS v
WHERE v.{{ key }} = @A{{ key_at }};
{% include "part/foreign_execute.sql" %}
