/*
What is there and belongs to somebody who is not trusted: not the user that installs, nor a role that it is a member of, nor
dbo. His triggers and functions would run with the rights of who installs.
*/
WITH [Mine] ([Id]) AS (
    SELECT p.[principal_id]
    FROM sys.database_principals AS p
    WHERE p.[name] = USER_NAME()
    UNION ALL
    SELECT m.[role_principal_id]
    FROM [Mine] AS i
    INNER JOIN sys.database_role_members AS m
        ON m.[member_principal_id] = i.[Id]
)

SELECT TOP (1)
    {{ into[0] }}f.[Kind],
    {{ into[1] }}f.[Name],
    {{ into[2] }}p.[name]
FROM (
    SELECT
        N'schema' AS [Kind],
        s.[name] AS [Name],
        s.[principal_id] AS [Owner]
    FROM sys.schemas AS s
    WHERE s.[name] = {{ text(schema_name) }}
    UNION ALL
    SELECT
        N'object',
        o.[name],
        COALESCE(o.[principal_id], s.[principal_id])
    FROM sys.schemas AS s
    INNER JOIN sys.objects AS o
        ON o.[schema_id] = s.[schema_id]
    WHERE s.[name] = {{ text(schema_name) }} AND o.[name] IN (SELECT n.[value] FROM OPENJSON(@Names) AS n)
    UNION ALL
    SELECT
        N'type',
        t.[name],
        COALESCE(t.[principal_id], s.[principal_id])
    FROM sys.schemas AS s
    INNER JOIN sys.types AS t
        ON t.[schema_id] = s.[schema_id]
    WHERE s.[name] = {{ text(schema_name) }} AND t.[name] IN (SELECT n.[value] FROM OPENJSON(@Names) AS n)
) AS f
INNER JOIN sys.database_principals AS p
    ON p.[principal_id] = f.[Owner]
WHERE
    p.[name] NOT IN (N'dbo', N'db_owner')
    AND p.[principal_id] NOT IN (SELECT i.[Id] FROM [Mine] AS i)
ORDER BY
    CASE WHEN f.[Kind] = N'schema' THEN 0 ELSE 1 END,
    f.[Kind],
    f.[Name]
