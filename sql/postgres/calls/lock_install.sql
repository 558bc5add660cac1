SELECT 1 AS granted FROM (SELECT pg_advisory_xact_lock(hashtextextended(?::text, 0))) AS l
