/*
Numbers begin anew after 10,000. The keys of this moment that are there come first all the same, so that an item of a group which is
enqueued after another has the later key. Of a call that has not committed they may count, too: the key is only a little later then.
*/
SET @_Tick = CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7));
SET @_Last = (
    SELECT MAX(q.[EnqueuedAt]) FROM {{ table }} AS q WITH (READUNCOMMITTED) WHERE q.[EnqueuedAt] >= @_Tick
);
IF @_Last >= DATEADD(MICROSECOND, {{ first }} % 10000, @_Tick)
BEGIN
    SET @_Tick = CAST(CAST(DATEADD(MILLISECOND, -5, @_Last) AS datetime2(2)) AS datetime2(7));
    IF @_Last >= DATEADD(MICROSECOND, {{ first }} % 10000, @_Tick)
        SET @_Tick = DATEADD(MILLISECOND, 10, @_Tick);
END;
