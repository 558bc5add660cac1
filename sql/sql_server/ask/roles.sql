/* The roles that have rights on objects in a schema, as far as the login sees them. */
SELECT DISTINCT p.[name] AS [Name]
FROM sys.database_permissions AS g
INNER JOIN sys.objects AS o ON o.[object_id] = g.[major_id]
INNER JOIN sys.database_principals AS p ON p.[principal_id] = g.[grantee_principal_id]
WHERE g.[class] = 1 AND SCHEMA_NAME(o.[schema_id]) = ? AND p.[type] = 'R' AND p.[name] <> N'public'
ORDER BY p.[name]
