SELECT v.{{ status }} AS [Status], COUNT_BIG(*) AS [Items]
FROM {{ view }} AS v
GROUP BY v.{{ status }}
