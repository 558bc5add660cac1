SELECT 1 AS [Alive];
