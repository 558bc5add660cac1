SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
SELECT
    p.[Type],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', p.[Since]) AS [SinceUs],
    DATEDIFF_BIG(MICROSECOND, '1970-01-01', p.[Until]) AS [UntilUs],
    p.[Who], p.[Login], p.[Reason]
FROM {{ object("QueuePaused_V") }} AS p
WHERE p.[Queue] = @Queue
ORDER BY p.[Type]
