/* An alias type: what it is made of, and of text its length in characters, -1 where it has no end. */
SELECT
    TYPE_NAME(t.[system_type_id]) AS [Base],
    CAST(
        CASE
            WHEN t.[max_length] > 0 AND TYPE_NAME(t.[system_type_id]) IN (N'nchar', N'nvarchar') THEN t.[max_length] / 2
            ELSE t.[max_length]
        END AS int
    ) AS [Length]
FROM sys.types AS t
WHERE SCHEMA_NAME(t.[schema_id]) = ? AND t.[name] = ? AND t.[is_user_defined] = 1 AND t.[is_table_type] = 0
