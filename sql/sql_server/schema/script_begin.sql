{% filter statement %}
/*
{{ title }}
{% if drops -%}
Rendered by readpast {{ library }} for objects of version {{ version }}.
{% else -%}
Rendered by readpast {{ library }}; the objects have version {{ version }}. Made anew whenever it is rendered: change the
description, not this text.
{% endif %}
To run it, as {{ "the login that installed the queue, or an owner of the database" if drops else "a login that may create schemas, types, tables and procedures" }}:
    sqlcmd -b -I -x -f 65001 -S <server> -d <database> -i <file>
An error takes everything back; -b stops there, and where a tool goes on (SSMS), nothing more is done. -x leaves $(...) in
names alone, -f 65001 reads the file as the UTF-8 that it is. What is there already as it should be is left alone, so it
may be run again.
*/
SET NOEXEC OFF;
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
/* All that come later wait behind a change of a table that waits. */
SET LOCK_TIMEOUT 10000;
BEGIN TRANSACTION;
{% endfilter %}
{% filter statement %}
DECLARE @Granted int = 0;
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
    EXECUTE @Granted = sp_getapplock
        @Resource = {{ text(lock) }}, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
IF @Granted < 0
    THROW 50013, N'Another install holds the lock of this schema; try again.', 1;
{% endfilter %}
{% filter statement %}
DECLARE @Names nvarchar(max) = {{ text(names) }};
DECLARE @Kind nvarchar(60);
DECLARE @Name nvarchar(128);
DECLARE @Verb nvarchar(128);
DECLARE @Whom nvarchar(128);
DECLARE @Remedy nvarchar(400);
DECLARE @Message nvarchar(2048);
{%- set into = ["@Kind = ", "@Name = ", "@Verb = ", "@Whom = ", "@Remedy = "] %}
{% include "part/owners.sql" %};

IF @Kind IS NOT NULL
BEGIN
    /* THROW reads a % as the start of something else; doubled, it stands for itself. */
    SET @Message = REPLACE(CONCAT(@Kind, N' ', @Name, N' ', @Verb, N' ', @Whom, N'. ', @Remedy), N'%', N'%%');
    THROW 50015, @Message, 1;
END;
{% endfilter %}
{% filter statement %}
{% include "part/lock_schema.sql" %}
{% endfilter %}
