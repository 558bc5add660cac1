{#- The columns of a statement. With this condition it is planned, and not executed. -#}
SELECT r.*
FROM (
{{ statement }}
) AS r
WHERE false
