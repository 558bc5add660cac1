/* An alias type: what it is made of; of text its length in characters, of bytes in bytes, -1 where it has no end; and how many digits it
has, before and behind the point. */
SELECT
    TYPE_NAME(t.[system_type_id]) AS [Base],
    CAST(
        CASE
            WHEN t.[max_length] > 0 AND TYPE_NAME(t.[system_type_id]) IN (N'nchar', N'nvarchar') THEN t.[max_length] / 2
            ELSE t.[max_length]
        END AS int
    ) AS [Length],
    CAST(t.[precision] AS int) AS [Precision], CAST(t.[scale] AS int) AS [Scale]
FROM sys.types AS t
WHERE SCHEMA_NAME(t.[schema_id]) = ? AND t.[name] = ? AND t.[is_user_defined] = 1 AND t.[is_table_type] = 0
