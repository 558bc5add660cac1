/* The foreign keys of other tables on these, whose names are a JSON list. */
DECLARE @Schema nvarchar(128) = ?;
DECLARE @Names nvarchar(max) = ?;
SELECT
    SCHEMA_NAME(k.[schema_id]) AS [SchemaName], OBJECT_NAME(k.[parent_object_id]) AS [TableName],
    k.[name] AS [KeyName]
FROM sys.foreign_keys AS k
INNER JOIN sys.objects AS o ON o.[object_id] = k.[referenced_object_id]
WHERE
    SCHEMA_NAME(o.[schema_id]) = @Schema
    AND o.[name] IN (SELECT n.[value] COLLATE DATABASE_DEFAULT FROM OPENJSON(@Names) AS n)
    AND NOT (
        SCHEMA_NAME(k.[schema_id]) = @Schema
        AND OBJECT_NAME(k.[parent_object_id]) IN (SELECT n.[value] COLLATE DATABASE_DEFAULT FROM OPENJSON(@Names) AS n)
    )
ORDER BY SCHEMA_NAME(k.[schema_id]), OBJECT_NAME(k.[parent_object_id]), k.[name];
