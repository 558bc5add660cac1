INSERT INTO {{ object("QueueSchemaVersion") }} ([Version], [AppliedAt], [Library]) VALUES (?, SYSUTCDATETIME(), ?)
