SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
SELECT TOP (100) a.[ActionId], a.[Verb]
FROM {{ object("QueueAction") }} AS a
WHERE
    a.[Queue] = @Queue AND a.[EndedAt] IS NULL
    AND (a.[Verb] = 'rebalance' OR a.[LeaseUntil] IS NULL OR a.[LeaseUntil] <= SYSUTCDATETIME())
ORDER BY a.[ActionId]
