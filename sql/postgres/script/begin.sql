/*
{{ title }}
Rendered by readpast {{ library }}; the objects have version {{ version }}. Made anew whenever it is rendered: change the
description, not this text.

To run it, as a role that may create schemas, tables and functions:
    psql --set ON_ERROR_STOP=1 --file <file> <database>
An error takes everything back. What is there already as it should be is left alone, so it may be run again.
*/
BEGIN;
GO
SET LOCAL client_min_messages = warning;
GO
/* Two installs at once take turns. */
SELECT pg_advisory_xact_lock(hashtextextended({{ text(lock) }}, 0));
GO
