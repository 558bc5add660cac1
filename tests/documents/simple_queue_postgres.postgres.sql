-- The table of the fourth document as its author's article on PostgreSQL would have it: the same columns, with the names
-- and types that are usual there. (That article is not among the documents; only the table's shape is taken from it.)
CREATE TABLE simple_queue
(
    id uuid NOT NULL PRIMARY KEY,
    created_at timestamptz NOT NULL,
    processing_started_at timestamptz,
    errors text,
    payload text
);
GO
CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at ASC)
INCLUDE (id)
WHERE processing_started_at IS NULL;
