{% filter statement %}
/*
{{ title }}
{% if drops -%}
Rendered by readpast {{ library }} for objects of version {{ version }}.
{% else -%}
Rendered by readpast {{ library }}; the objects have version {{ version }}. Made anew whenever it is rendered: change the
description, not this text.
{% endif %}
To run it, as {{ "the login that installed the queue, or an owner of the database" if drops else "a login that may create schemas, tables, sequences, views, functions and procedures" }}:
    sqlcmd -b -I -x -f 65001 -S <server> -d <database> -i <file>
An error takes everything back; -b stops there, and where a tool goes on (SSMS), nothing more is done. -x leaves $(...) in
names alone, -f 65001 reads the file as the UTF-8 that it is. An object that is there as it should be is left alone, so it
may be run again.
{%- if queue %}

CONTENTS                                     each rule stands once, in the object named here
  Schema   QueueStatus, QueueTransition      the states, and which may follow which
           QueueOperation                    calls that were made: a second one of the same identity changes nothing
           QueueRecovery{{ ", QueueTurn, -Take" if turns }}{{ ", QueueRetention" if retains }}     whose turn it is to look for dead workers
{{- ", to claim in groups or within limits" if turns }}{{ ", to delete" if retains }}
           QueueRefused                      items that their table does not let a queue change
           QueuePause, -Begin, -End; QueuePaused_V      what is not to be claimed for now; each is a row of QueueRefused too
           QueueAction, -Note, -Step         what operators did; actions on many items
           QueueLifeline, -Take, -Look               locks that live as long as a worker's process, and whose have gone free
           QueueWorker, -Seen; QueueMinute, -Keep      the workers that are there; the figures of each minute
{%- if schedules %}
           QueueSchedule                     when queues put items in by themselves
{%- endif %}
{%- if limits %}
           QueueLimit                        what limits by key have left, and where they differ from the description
{%- endif %}
           AppSettings, QueueSpec, QueueSchemaVersion, QueueTypeAccess
           QueueJudge_fn                     which answer an item gets, and what it becomes
           QueueBackoff_fn, QueueFits_fn     when a retry is due; whether an item fits a filter
           QueueTake, QueueFilterTake        how @Items and @Filter are looked at, and refused (50021)
           QueueOperationTake, -Keep         the identity of a call, and its clearing
           QueueRefuse, QueueNoteRefusal     an answer as an error (50023 to 50026); what a table has refused
           QueueCatalog, QueueIsDone         what is installed; whether a call has committed
           QueueDue                          in which of many queues something is due, as Due_<queue> finds
  Queue    {{ called }}{{ ", " ~ queue ~ "Type, " ~ queue ~ "_Seq" if own }}{{ ", " ~ queue ~ "_Lease (what the table has no column for)" if beside }}{{ ", " ~ queue ~ "_Progress" if progress }}; Worker_{{ queue }}_V; {{ queue }}_Setting_V (the limits in force)
  Inner    {{ queue }}_Add, {{ queue }}_Claim, {{ queue }}_Recover, {{ queue }}_Settle, {{ queue }}_Answered{{ ", " ~ queue ~ "_Has_fn" if searchable }}{{ ", " ~ queue ~ "_Room" if limits }}{{ ", " ~ queue ~ "_Spend" if rates }}; nobody is granted these
  Public   _utx works in the caller's transaction, _trx in one of its own; _Set_ takes many items

CALLS
  Add_{{ queue }}_Set_utx, _Set_trx            > {{ queue }}_Add
  Next_{{ queue }}_utx, _trx, _Set_utx, _Set_trx   > {{ queue }}_Claim > {{ queue }}_Recover
{%- if limits %}
  {{ queue }}_Claim                              > {{ queue }}_Room, which asks {{ queue }}_Limit<n>_fn{{ ", and that " ~ queue ~ "_Rate<n>_fn; then " ~ queue ~ "_Spend" if rates }}
{%- endif %}
  Modify_{{ queue }}_utx, _trx, _Set_utx, _Set_trx > {{ queue }}_Settle, which asks {{ queue }}_Answered; then, to claim as well, {{ queue }}_Claim
  Recover_{{ queue }}_trx                      > {{ queue }}_Recover
  Redrive_{{ queue }}_Set_trx                  > {{ queue }}_Answered
  Next_{{ queue }}_Apart_trx                   > Next_{{ queue }}_Set_trx
  QueueDue                               > Due_{{ queue }}
{%- if searchable %}
  Find_{{ queue }}, Purge_{{ queue }}_trx            > {{ queue }}_Has_fn
{%- endif %}
  Renew_, {{ "Find_, Purge_, " if not searchable }}Stats_, Watch_{{ queue }} and all others stand alone

LOCKS, IN THIS ORDER
  1. QueueOperation    the call's row; a second call of its identity waits for it
{%- if turns %}
  2. QueueTurn         the queue's row: one claim at a time, to the end of its transaction{{ "; in its turn it reads and writes QueueLimit" if limits }}
{%- endif %}
  {{ 3 if turns else 2 }}. {{ called }}: rows in the order of their keys (settle, redrive), waited for; else passing over those that others hold
{%- if beside %}
  {{ 4 if turns else 3 }}. {{ queue }}_Lease: the row beside an item, after the item's own
{%- endif %}
{%- if progress %}
  {{ (4 if turns else 3) + (1 if beside else 0) }}. {{ queue }}_Progress: the row of an item, after {{ "that" if beside else "the item's own" }}
{%- endif %}
  QueueTransition is only read. QueueRecovery{{ ", QueueLifeline and QueueRetention" if retains else " and QueueLifeline" }} are passed over where another holds them. QueuePause
  is read before items are locked. QueueRefused comes last.
  QueueAction, QueueWorker and QueueMinute: alone, in calls of their own.

SETTINGS THAT EACH PUBLIC PROCEDURE BEGINS WITH, and that are the caller's again at its end
  XACT_ABORT ON                an error ends the transaction, and no half of a change stays
  ROWCOUNT 0                   a session that limits its rows would have a call work on the first ones only
  IMPLICIT_TRANSACTIONS OFF    or the transaction of a _trx would stay open after its commit; some drivers turn it on. A _utx takes such
                               a session's word, since its first statement that touches a table begins the transaction
  READ COMMITTED               READPAST fails under other levels (650), and pooled connections carry them along; under SNAPSHOT items
                               would be judged as they were at the transaction's beginning
{%- endif %}
*/
SET NOEXEC OFF;
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT, IMPLICIT_TRANSACTIONS OFF;
SET NOCOUNT, XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
/* All that come later wait behind a change of a table that waits. */
SET LOCK_TIMEOUT 10000;
/* A call that meets this script gives way, and is tried again. */
SET DEADLOCK_PRIORITY HIGH;
BEGIN TRANSACTION;
{% endfilter %}
{% filter statement %}
DECLARE @Granted int = 0;
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
    EXECUTE @Granted = sp_getapplock
        @Resource = {{ text(lock) }}, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
IF @Granted < 0 THROW 50013, N'Another install holds the lock of this schema; try again.', 1;
{% endfilter %}
{% filter statement %}
DECLARE @Names nvarchar(max) = {{ text(names) }};
DECLARE @Kind nvarchar(60), @Name nvarchar(128), @Verb nvarchar(128), @Whom nvarchar(128);
DECLARE @Remedy nvarchar(400), @Message nvarchar(2048);
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
