    SELECT CONCAT(r.[Metric], '.', p.[Name], '_ms'), r.[Ms]{{ more }}
    FROM (
        SELECT
            x.[Metric], x.[Ms], ROW_NUMBER() OVER (PARTITION BY x.[Metric] ORDER BY x.[Ms]) AS [Rank],
            COUNT_BIG(*) OVER (PARTITION BY x.[Metric]) AS [Of]
        FROM {{ sample }} AS m
        CROSS APPLY (VALUES ('wait', m.[WaitMs]), ('claimed', m.[ClaimedMs])) AS x ([Metric], [Ms])
        WHERE x.[Ms] IS NOT NULL
    ) AS r
    INNER JOIN (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
        ON r.[Rank] = (r.[Of] * p.[Percent] + 99) / 100
{#- Percentiles of the times in the table `sample`; each in its place, counted from the least. -#}
