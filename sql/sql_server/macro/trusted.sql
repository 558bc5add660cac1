{#- The principals that an install trusts as it does itself, as a table `Mine`; and whether a principal is none of them. -#}
{%- macro mine() -%}
WITH [Mine] ([Id]) AS (
    SELECT p.[principal_id]
    FROM sys.database_principals AS p
    WHERE
        p.[name] = USER_NAME()
        OR (p.[type] IN ('G', 'X') AND IS_MEMBER(p.[name]) = 1)
    UNION ALL
    SELECT m.[role_principal_id]
    FROM [Mine] AS i
    INNER JOIN sys.database_role_members AS m ON m.[member_principal_id] = i.[Id]
)
{%- endmacro -%}
{%- macro is_stranger(id) -%}
{{ id }} NOT IN (SELECT i.[Id] FROM [Mine] AS i)
AND COALESCE(USER_NAME({{ id }}), N'') NOT IN (N'dbo', N'db_owner')
AND COALESCE(IS_ROLEMEMBER(N'db_owner', USER_NAME({{ id }})), 0) = 0
{%- endmacro -%}
