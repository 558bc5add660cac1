{%- import "macro/trusted.sql" as trusted -%}
/*
Principals that may change the tables and procedures of a schema, or prepare triggers, without being trusted as an install trusts:
each with the right or the fixed role that lets it. And the triggers of the database, which fire at what an install makes.
*/
{{ trusted.mine() }}

SELECT COALESCE(USER_NAME(f.[Holder]), N'somebody that this login cannot see') AS [Name], f.[By]
FROM (
    SELECT
        d.[grantee_principal_id] AS [Holder],
        CONCAT(d.[permission_name], N' on ', CASE d.[class]
            WHEN 0 THEN N'the database'
            WHEN 3 THEN N'the schema'
            ELSE OBJECT_NAME(d.[major_id])
        END) AS [By]
    FROM sys.database_permissions AS d
    CROSS JOIN sys.schemas AS s
    WHERE
        s.[name] = ? AND d.[state] IN ('G', 'W')
        AND (
            (d.[class] = 0 AND d.[permission_name] IN (N'ALTER ANY SCHEMA', N'ALTER ANY DATABASE DDL TRIGGER'))
            OR (
                d.[permission_name] IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
                AND (
                    d.[class] = 0
                    OR (d.[class] = 3 AND d.[major_id] = s.[schema_id])
                    OR (d.[class] = 1 AND OBJECT_SCHEMA_NAME(d.[major_id]) = s.[name])
                )
            )
        )
    UNION ALL
    SELECT m.[member_principal_id], USER_NAME(m.[role_principal_id])
    FROM sys.database_role_members AS m
    WHERE USER_NAME(m.[role_principal_id]) IN (N'db_ddladmin', N'db_securityadmin')
) AS f
WHERE
    {{ trusted.is_stranger("f.[Holder]") | indent(4) }}
UNION ALL
SELECT t.[name], N''
FROM sys.triggers AS t
WHERE t.[parent_class] = 0 AND t.[is_disabled] = 0 AND t.[is_ms_shipped] = 0
ORDER BY [Name], [By]
