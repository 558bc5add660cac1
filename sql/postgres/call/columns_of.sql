{#- What columns a statement has. With this condition it is planned, and not executed. -#}
SELECT r.*
FROM (
{{ statement }}
) AS r
WHERE false
