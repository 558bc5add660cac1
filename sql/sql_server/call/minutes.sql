SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
DECLARE @Since bigint = ?;
SELECT DATEDIFF_BIG(MILLISECOND, '1970-01-01', m.[At]) AS [AtMs], m.[Due], m.[OldestMs], m.[InFlight], m.[Failed], m.[Ended]
FROM {{ object("QueueMinute") }} AS m
WHERE m.[Queue] = @Queue AND m.[At] > DATEADD(MINUTE, CAST(@Since / 60000 AS int), CAST('1970-01-01' AS datetime2(0)))
ORDER BY m.[At]
