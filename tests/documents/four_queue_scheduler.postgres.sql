-- The scheduler table of the second document, translated in its types only. A bit that is a flag is a boolean here, and
-- GETDATE() + 0.00001 is 0.864 s later. A table's rows have no clustered order; an option to ignore duplicates is not an
-- index's here but a statement's (ON CONFLICT DO NOTHING).
CREATE TABLE four_queue
(
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    in_process boolean NOT NULL DEFAULT FALSE,
    reputation integer NOT NULL,
    scheduled_start_date timestamp(3) NULL DEFAULT LOCALTIMESTAMP,
    start_date timestamp(3) NULL DEFAULT LOCALTIMESTAMP,
    end_date timestamp(3) NULL DEFAULT LOCALTIMESTAMP + INTERVAL '0.864 seconds',
    duration_milliseconds integer
        GENERATED ALWAYS AS (CAST(EXTRACT(EPOCH FROM end_date - start_date) * 1000 AS integer)) STORED,
    app_server varchar(128) NULL,
    attempts smallint NOT NULL DEFAULT 0,
    CONSTRAINT big_idea PRIMARY KEY (in_process, id)
);
GO
CREATE UNIQUE INDEX fq_uq_r ON four_queue (reputation);
