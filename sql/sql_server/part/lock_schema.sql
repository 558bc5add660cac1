/*
Two installs at once take turns, at a row that nobody else can lock: for a minute. Where it is not there yet, they do at the
application lock before this, which any login could keep.
*/
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NOT NULL
    EXECUTE (N'SET LOCK_TIMEOUT 60000;
DECLARE @Version int = (
    SELECT v.[Version] FROM {{ object("QueueSchemaVersion") | replace("'", "''") }} AS v WITH (UPDLOCK, ROWLOCK) WHERE v.[Version] = 1
);');
