INSERT INTO {{ object("queue_schema_version") }} (version, applied_at, library)
VALUES (?::integer, clock_timestamp(), ?::text)
