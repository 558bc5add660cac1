SELECT 1 AS found
