SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
SELECT TOP (1000)
    w.[Worker], w.[Host], w.[Process], w.[Version],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', w.[StartedAt]) AS [StartedUs],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', w.[SeenAt]) AS [SeenUs],
    DATEDIFF_BIG(MILLISECOND, w.[SeenAt], SYSUTCDATETIME()) AS [AgoMs]
FROM {{ object("QueueWorker") }} AS w
WHERE w.[Queue] = @Queue
ORDER BY w.[SeenAt] DESC, w.[Worker]
