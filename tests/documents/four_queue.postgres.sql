-- The plain table of the second document, translated in its types only; see four_queue.sql_server.sql for where its text
-- is from, and four_queue_scheduler.postgres.sql for the types.
CREATE TABLE four_queue
(
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    in_process boolean NOT NULL DEFAULT FALSE,
    reputation integer NOT NULL,
    start_date timestamp(3) NULL DEFAULT LOCALTIMESTAMP,
    end_date timestamp(3) NULL DEFAULT LOCALTIMESTAMP + INTERVAL '0.864 seconds',
    duration_milliseconds integer
        GENERATED ALWAYS AS (CAST(EXTRACT(EPOCH FROM end_date - start_date) * 1000 AS integer)) STORED,
    CONSTRAINT big_idea PRIMARY KEY (in_process, id)
);
GO
CREATE UNIQUE INDEX fq_uq_r ON four_queue (reputation);
