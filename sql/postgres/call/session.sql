SET TIME ZONE 'UTC';
SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = off;
SET standard_conforming_strings = on;
SET client_min_messages = warning;
SET lock_timeout = {{ lock_timeout_ms }};
SET statement_timeout = {{ query_timeout_ms }};
SET application_name = {{ application }};
SET readpast.checks_items = on;
