/* Objects of a schema, as the statements that drop them, in an order in which nothing that is left refers to what has gone. */
SELECT
    d.[Turn],
    d.[Statement]
FROM (SELECT CAST(? AS nvarchar(128)) AS [Name]) AS w
CROSS APPLY (
    SELECT
        1 AS [Turn],
        N'ALTER TABLE ' + QUOTENAME(w.[Name]) + N'.' + QUOTENAME(OBJECT_NAME(f.[parent_object_id])) + N' DROP CONSTRAINT '
        + QUOTENAME(f.[name]) AS [Statement]
    FROM sys.foreign_keys AS f
    WHERE SCHEMA_NAME(f.[schema_id]) = w.[Name]
    UNION ALL
    SELECT
        CASE WHEN o.[type] IN ('V', 'P') THEN 2 WHEN o.[type] = 'U' THEN 3 ELSE 4 END,
        CASE
            WHEN o.[type] = 'V' THEN N'DROP VIEW '
            WHEN o.[type] = 'P' THEN N'DROP PROCEDURE '
            WHEN o.[type] = 'U' THEN N'DROP TABLE '
            WHEN o.[type] = 'SO' THEN N'DROP SEQUENCE '
            ELSE N'DROP FUNCTION '
        END + QUOTENAME(w.[Name]) + N'.' + QUOTENAME(o.[name])
    FROM sys.objects AS o
    WHERE
        SCHEMA_NAME(o.[schema_id]) = w.[Name]
        AND o.[parent_object_id] = 0
        AND o.[type] IN ('V', 'P', 'U', 'SO', 'FN', 'IF', 'TF')
    UNION ALL
    SELECT
        5,
        N'DROP TYPE ' + QUOTENAME(w.[Name]) + N'.' + QUOTENAME(t.[name])
    FROM sys.types AS t
    WHERE SCHEMA_NAME(t.[schema_id]) = w.[Name] AND t.[is_user_defined] = 1
    UNION ALL
    SELECT
        6,
        N'DROP SCHEMA ' + QUOTENAME(s.[name])
    FROM sys.schemas AS s
    WHERE s.[name] = w.[Name]
) AS d
ORDER BY d.[Turn]
