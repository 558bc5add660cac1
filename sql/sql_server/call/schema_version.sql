SELECT MAX(v.[Version]) AS [Version] FROM {{ object("QueueSchemaVersion") }} AS v
