    DECLARE @_Replayed bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Place uniqueidentifier = NEWID();
