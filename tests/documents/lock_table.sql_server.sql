-- The table of the fifth document, which prints no DDL: the columns that its ingredients and its procedure name, with the
-- types of the procedure's variables. Request, what is to be done, is ours: the document leaves it open. NumAttempts is
-- added in lock_table_attempts.sql_server.sql.
CREATE TABLE [Queue] (
    RequestId int IDENTITY NOT NULL PRIMARY KEY,
    Status int NOT NULL DEFAULT 1,
    LockedBy varchar(75) NULL,
    LockedTime datetime NULL,
    RequestedTime datetime NOT NULL DEFAULT GETDATE(),
    CompletionTime datetime NULL,
    Request nvarchar(max) NULL
);
