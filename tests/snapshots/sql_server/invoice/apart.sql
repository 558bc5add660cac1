/*
Claim up to @Max due items, as Next_Invoice_Set_trx does, and recover nothing: for a client that has met a refusal of the table.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Invoice_Apart_trx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Invoice */,
    @Recover int = 0 /* as there */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Invoice_Apart_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Next_Invoice_Set_trx]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Claim = @Claim;
END;
GO
