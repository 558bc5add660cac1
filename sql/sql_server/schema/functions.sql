{% filter statement %}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsProcessable_fn") %}
/* The meaning of each status, in one place. Re-created by every install. */
{{ create_or_alter }} FUNCTION {{ object("QueueIsProcessable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can this item be picked up for processing? */
    RETURN CASE WHEN @Status IN ('Pending', 'Paused', 'Error') THEN 1 ELSE 0 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsFinished_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsFinished_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Is this item in a terminal state? */
    RETURN CASE WHEN @Status IN ('Pending', 'Processing', 'Error', 'Paused') THEN 0 ELSE 1 END;
END;
{% endfilter %}
{% filter made("FUNCTION", "QueueIsEditable_fn") %}
{{ create_or_alter }} FUNCTION {{ object("QueueIsEditable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
WITH SCHEMABINDING
AS
BEGIN
    /* Can a worker write response and error data to this item? */
    RETURN CASE
        WHEN @Status IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted') THEN 0
        ELSE 1
    END;
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueCatalog") %}
/*
The installation here: the version of the objects, and a row per queue, or one without a queue. A handle reads this
when it opens, so that a worker needs no right but to execute.
Table access order: QueueSchemaVersion, QueueSpec.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueCatalog") }}
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        v.[Version],
        q.[Queue],
        q.[Preset],
        q.[Spec],
        q.[RenderedBy]
    FROM (
        SELECT MAX(a.[Version]) AS [Version]
        FROM {{ object("QueueSchemaVersion") }} AS a
    ) AS v
    LEFT JOIN {{ object("QueueSpec") }} AS q
        ON 1 = 1
    ORDER BY q.[Queue];
END;
{% endfilter %}
{% filter made("PROCEDURE", "QueueIsDone") %}
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, also
where readers see row versions. What is older than an hour may be forgotten.
Table access order: QueueOperation.
*/
{{ create_or_alter }} PROCEDURE {{ object("QueueIsDone") }}
    @Operation uniqueidentifier
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_At datetime2(7);

    SELECT @_At = p.[At]
    FROM {{ object("QueueOperation") }} AS p WITH (READCOMMITTEDLOCK)
    WHERE p.[OperationId] = @Operation;

    SELECT
        CASE WHEN @_At IS NULL THEN 'NOT_FOUND' ELSE 'OK' END AS [Answer],
        @_At AS [At];
END;
{% endfilter %}
