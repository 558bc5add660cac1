SELECT v.{{ status }}::text AS status, COUNT(*) AS items
FROM {{ view }} AS v
GROUP BY v.{{ status }}
