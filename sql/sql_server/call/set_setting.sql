SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @Param varchar(100) = ?;
DECLARE @Value int = ?;
/* The first statement holds the place of a setting that is not there: two who set it at once make one row. */
BEGIN TRANSACTION;
UPDATE {{ settings_of.table }} WITH (UPDLOCK, SERIALIZABLE)
SET {{ settings_of.value }} = @Value
WHERE {{ settings_of.param }} = @Param;
IF @@ROWCOUNT = 0
    INSERT INTO {{ settings_of.table }} ({{ settings_of.param }}, {{ settings_of.value }})
    VALUES (@Param, @Value);
COMMIT TRANSACTION;
