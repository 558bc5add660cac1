SELECT MAX(v.version) AS version FROM {{ object("queue_schema_version") }} AS v
