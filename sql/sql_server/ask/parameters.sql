/*
The parameters of a procedure, a row for each; one row without a parameter when it takes none. Whether a parameter has
a default is not in the catalog. sys.all_parameters has what sys.parameters has, and is there on more servers.
*/
SELECT
    CAST(o.[object_id] AS nvarchar(20)) AS [Procedure], p.[name] AS [Name], TYPE_NAME(p.[system_type_id]) AS [Type],
    TYPE_NAME(p.[user_type_id]) AS [Declared], 0 AS [HasDefault], 1 AS [IsCalled]
FROM sys.objects AS o
LEFT JOIN sys.all_parameters AS p ON p.[object_id] = o.[object_id] AND p.[parameter_id] > 0
WHERE SCHEMA_NAME(o.[schema_id]) = ? AND o.[name] = ? AND o.[type] IN ('P', 'PC')
ORDER BY p.[parameter_id]
