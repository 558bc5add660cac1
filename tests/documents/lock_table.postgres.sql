-- The table of the fifth document, translated in its types only; see lock_table.sql_server.sql.
CREATE TABLE Queue (
    RequestId integer GENERATED ALWAYS AS IDENTITY NOT NULL PRIMARY KEY,
    Status integer NOT NULL DEFAULT 1,
    LockedBy varchar(75) NULL,
    LockedTime timestamp(3) NULL,
    RequestedTime timestamp(3) NOT NULL DEFAULT LOCALTIMESTAMP,
    CompletionTime timestamp(3) NULL,
    Request text NULL
);
