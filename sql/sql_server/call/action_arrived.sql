SET NOCOUNT ON;
DECLARE @Queue varchar(40) = ?;
DECLARE @Filter nvarchar(max) = ?;
SELECT TOP (1) a.[ActionId]
FROM {{ object("QueueAction") }} AS a
WHERE a.[Queue] = @Queue AND a.[Verb] = 'rebalance' AND a.[State] = 'Done' AND a.[Filter] = @Filter
