{%- import "macro/trusted.sql" as trusted -%}
/*
Preparations of an owner who is not trusted: not the user that installs, nor a role or group that it is a member of, nor dbo,
nor a member of db_owner. They would run with the rights of the user that installs. An object belongs to its schema's owner, not to
its maker: so a user that may change the schema counts as an owner, and a trigger, or an object from before the first install, has none.
*/
{{ trusted.mine() }},

[Named] ([Id], [Name], [Owner]) AS (
    SELECT o.[object_id], o.[name], COALESCE(o.[principal_id], s.[principal_id])
    FROM sys.schemas AS s
    INNER JOIN sys.objects AS o ON o.[schema_id] = s.[schema_id]
    WHERE s.[name] = {{ text(schema_name) }} AND o.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@Names) AS n)
)

SELECT TOP (1)
    {{ into[0] }}f.[Kind],
    {{ into[1] }}f.[Name],
    {{ into[2] }}f.[Verb],
    {{ into[3] }}COALESCE(f.[Whom], USER_NAME(f.[Holder]), N'somebody that this login cannot see'),
    {{ into[4] }}COALESCE(
        f.[Remedy],
        N'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
        + N'install as that user or as a member of that role, or choose another schema.'
    )
FROM (
    SELECT
        N'schema' AS [Kind], s.[name] AS [Name], N'belongs to' AS [Verb], s.[principal_id] AS [Holder],
        CAST(NULL AS nvarchar(128)) AS [Whom], CAST(NULL AS nvarchar(400)) AS [Remedy]
    FROM sys.schemas AS s
    WHERE s.[name] = {{ text(schema_name) }}
    UNION ALL
    SELECT N'object', n.[Name], N'belongs to', n.[Owner], NULL, NULL
    FROM [Named] AS n
    UNION ALL
    SELECT
        CASE WHEN d.[class] = 3 THEN N'schema' ELSE N'object' END,
        CASE WHEN d.[class] = 3 THEN SCHEMA_NAME(d.[major_id]) ELSE OBJECT_NAME(d.[major_id]) END,
        CONCAT(N'gives ', d.[permission_name], N' to'), d.[grantee_principal_id], NULL,
        N'Its holder''s triggers and changes would run with the rights of who installs. Revoke it, install as that user or '
        + N'as a member of that role, or choose another schema.'
    FROM sys.database_permissions AS d
    WHERE
        d.[permission_name] IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP') AND d.[state] IN ('G', 'W')
        AND (
            (d.[class] = 3 AND d.[major_id] = SCHEMA_ID({{ text(schema_name) }}))
            OR (d.[class] = 1 AND d.[major_id] IN (SELECT n.[Id] FROM [Named] AS n))
        )
    UNION ALL
    SELECT
        N'trigger', g.[name], N'fires on', NULL, n.[Name],
        N'Its maker is not known, and it runs with the rights of who installs. Drop it, or disable it while you install.'
    FROM sys.triggers AS g
    INNER JOIN [Named] AS n ON n.[Id] = g.[parent_id]
    /* One of ours is made anew before a row changes; who may change it counts as an owner. */
    WHERE g.[is_disabled] = 0 AND g.[is_ms_shipped] = 0 AND g.[object_id] NOT IN (SELECT o.[Id] FROM [Named] AS o)
    UNION ALL
    SELECT
        N'object', n.[Name], N'is there without', NULL, N'QueueSchemaVersion',
        N'An install makes it, and its maker is not known. Drop it or rename it, or choose another schema.'
    FROM [Named] AS n
    WHERE OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
) AS f
WHERE
    f.[Holder] IS NULL
    OR (
        {{ trusted.is_stranger("f.[Holder]") | indent(8) }}
    )
ORDER BY
    CASE WHEN f.[Kind] = N'schema' THEN 0 ELSE 1 END, f.[Kind], f.[Name], f.[Verb]
