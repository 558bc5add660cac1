-- See email_requests_sent.sql_server.sql.
ALTER TABLE EmailRequests
    ADD IsEmailSent boolean NOT NULL DEFAULT FALSE,
    ADD RetryCount integer NOT NULL DEFAULT 0;
