CREATE OR ALTER PROCEDURE dbo.queue_four
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @worker nvarchar(128) = CONCAT(N'queue_four ', @@SPID);
    DECLARE @key nvarchar(4000), @token datetime2(7), @attempt int, @reputation int, @error nvarchar(4000);
    /* The answers of the procedures; a claim has the columns of the item as well. */
    DECLARE @settled table (
        answer varchar(20), ordinal int, due_ms bigint, item_key nvarchar(4000), token datetime2(7), attempt int,
        status nvarchar(20)
    );
    DECLARE @claimed table (
        answer varchar(20), ordinal int, due_ms bigint, item_key nvarchar(4000), token datetime2(7), attempt int,
        status nvarchar(20), reputation int, id bigint, item_status nvarchar(20), item_step nvarchar(60),
        item_attempt int, item_response nvarchar(max), item_error nvarchar(max), item_started_at datetime2(7),
        item_duration bigint, item_due_at datetime2(7), item_token datetime2(7), item_owner nvarchar(128),
        item_lease_until datetime2(7)
    );

    WHILE 1 = 1
    BEGIN
        /* INSERT ... EXECUTE is inside a transaction, which Next_FourQueue_trx refuses; this claims in one. */
        DELETE FROM @claimed;
        SET @key = NULL;
        BEGIN TRANSACTION;
        INSERT INTO @claimed
        EXECUTE [readpast].Modify_FourQueue_Set_utx
            @Operation = NULL, @Worker = @worker, @Items = N'[]', @Max = 1, @Recover = 1;
        COMMIT TRANSACTION; /* others see that it is taken */
        SELECT @key = c.item_key, @token = c.token, @attempt = c.attempt, @reputation = c.reputation
        FROM @claimed AS c
        WHERE c.item_key IS NOT NULL;
        IF @key IS NULL
            BREAK; /* nothing is due; the column due_ms says when something will be */

        BEGIN TRY
            BEGIN TRANSACTION;
            INSERT INTO dbo.reputation_count (reputation, records)
            SELECT @reputation, COUNT_BIG(*)
            FROM dbo.Users AS u
            WHERE u.Reputation = @reputation;

            /* The work and the end of its item are committed together. */
            DELETE FROM @settled;
            INSERT INTO @settled
            EXECUTE [readpast].Modify_FourQueue_utx
                @Key = @key, @Token = @token, @Status = 'Completed', @Worker = @worker, @AttemptNum = @attempt;
            IF NOT EXISTS (SELECT 1 FROM @settled AS s WHERE s.answer = 'OK')
                THROW 50000, N'somebody else has the item now', 1;
            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* Tried again until its attempts are spent. Of an item that was lost, the answer says so, and nothing is done. */
            BEGIN TRANSACTION;
            INSERT INTO @settled
            EXECUTE [readpast].Modify_FourQueue_utx
                @Key = @key, @Token = @token, @Status = 'Error', @Error = @error, @Worker = @worker, @AttemptNum = @attempt;
            COMMIT TRANSACTION;
        END CATCH;
    END;
END;
