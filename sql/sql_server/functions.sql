/* What a status means, in one place. Re-created by every install. */
CREATE OR ALTER FUNCTION {{ object("QueueIsProcessable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
AS
BEGIN
    /* Can this item be picked up for processing? */
    IF @Status IN ('Pending', 'Paused', 'Error')
        RETURN 1;
    RETURN 0;
END;
GO
CREATE OR ALTER FUNCTION {{ object("QueueIsFinished_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
AS
BEGIN
    /* Is this item in a terminal state? */
    IF @Status NOT IN ('Pending', 'Processing', 'Error', 'Paused')
        RETURN 1;
    RETURN 0;
END;
GO
CREATE OR ALTER FUNCTION {{ object("QueueIsEditable_fn") }} (@Status {{ object("QueueState") }})
RETURNS bit
AS
BEGIN
    /* Can a worker write response and error data to this item? */
    IF @Status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
        RETURN 1;
    RETURN 0;
END;
GO
