DECLARE @Resource nvarchar(255) = ?;
DECLARE @Result int = 0;
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
    EXECUTE @Result = sp_getapplock
        @Resource = @Resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
SELECT CASE WHEN @Result >= 0 THEN 1 ELSE 0 END AS [Granted];
