-- The table of the fourth document, translated in its types only. In the index what INCLUDE adds is in the table's row
-- anyway, which PostgreSQL has to visit for the lock.
CREATE TABLE SimpleQueue
(
    Id uuid NOT NULL PRIMARY KEY,
    CreatedAt timestamp NOT NULL,
    ProcessingStartedAt timestamp,
    Errors text,
    Payload text
);
GO
CREATE INDEX IX_SIMPLEQUEUE_POP ON SimpleQueue (ProcessingStartedAt, CreatedAt ASC)
INCLUDE (Id)
WHERE ProcessingStartedAt IS NULL;
