    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
    so: 0 is null, 1 text, 2 a number, 4 an array. Two steps, since the parts of one condition are evaluated in any order.
    */
    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        THROW 50021, N'{{ procedure }}: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error', N'longer_ms')
                OR j.[type] NOT IN (
                    0,
                    CASE
                        WHEN j.[key] IN (N'keys', N'status', N'types') THEN 4
                        WHEN j.[key] = N'longer_ms' THEN 2
                        ELSE 1
                    END
                )
                /* A member that JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        THROW 50021, N'{{ procedure }}: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
