-- See lock_table_attempts.sql_server.sql.
ALTER TABLE Queue ADD NumAttempts integer NULL;
