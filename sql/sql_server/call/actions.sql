SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
DECLARE @Number bigint = ?;
DECLARE @Below bigint = ?;
DECLARE @Most int = ?;
SELECT TOP (@Most)
    a.[ActionId], a.[Queue], a.[Verb], a.[Who], a.[Login], a.[Filter], a.[State],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.[BegunAt]) AS [BegunUs],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', a.[EndedAt]) AS [EndedUs],
    a.[Expected], a.[Done], a.[Refused], a.[Place], a.[Result],
    CASE WHEN a.[EndedAt] IS NULL AND a.[Owner] IS NOT NULL AND a.[LeaseUntil] > SYSUTCDATETIME() THEN 1 ELSE 0 END AS [IsHeld]
FROM {{ object("QueueAction") }} AS a
WHERE
    (@Queue IS NULL OR a.[Queue] = @Queue)
    AND (@Number IS NULL OR a.[ActionId] = @Number) AND (@Below IS NULL OR a.[ActionId] < @Below)
ORDER BY a.[ActionId] DESC
