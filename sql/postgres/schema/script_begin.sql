{% filter statement %}
/*
{{ title }}
{% if drops -%}
Rendered by readpast {{ library }} for objects of version {{ version }}.
{% else -%}
Rendered by readpast {{ library }}; the objects have version {{ version }}. Made anew whenever it is rendered: change the
description, not this text.
{% endif %}
To run it, as {{ "the role that installed the queue" if drops else "a role that may create schemas, tables and functions" }}:
    psql --set ON_ERROR_STOP=1 --file <file> <database>
An error takes everything back. An object that is there as it should be is left alone, so it may be run again.
{%- if queue is defined and queue %}

CONTENTS                                     each rule stands once, in the object named here
  Schema   queue_status, queue_transition    the states, and which may follow which
           queue_operation                   calls that were made: a second one of the same identity changes nothing
           queue_recovery{{ ", queue_turn" if turns or adds_in_turn }}{{ ", queue_retention" if retains }}     whose turn it is to look for dead workers
{{- ", to claim in groups or within limits" if turns }}{{ ", to add" if adds_in_turn }}{{ ", to delete" if retains }}
           queue_refused                     items that their table does not let a queue change
           queue_sleeper, queue_awaited      processes that wait to be woken: by items, by the ends of some
           queue_pause, _begin, _end; queue_paused_v    what is not to be claimed for now; each is a row of queue_refused too
           queue_action, _note, _step        what operators did; actions on many items
           queue_worker, _seen; queue_minute, _keep    the workers that are there; the figures of each minute
           queue_lifeline, _take, _look, _seize    locks that live as long as a worker's process, and whose have gone free
{%- if schedules %}
           queue_schedule                    when queues put items in by themselves
{%- endif %}
{%- if limits %}
           queue_limit                       what limits by key have left, and where they differ from the description
{%- endif %}
           app_settings, queue_spec, queue_schema_version, queue_type_access
           queue_terms, queue_taken_fn, queue_sets_fn, queue_filter      what a call is given, how it is refused (RP021); settings
           queue_begun, queue_clear          the identity of a call, and its clearing
           queue_recovery_turn{{ ", queue_take_turn" if turns or adds_in_turn }}, queue_note_refusal      turns; what a table has refused
           queue_head_fn, queue_begin_at_fn  where claims begin, beside dead rows that nothing may remove
           queue_fits_fn, queue_times_fn, queue_figures, queue_watched   whether an item fits a filter; figures
           queue_wanted_fn, queue_has_fn, queue_member_fn    the values that a filter looks for in columns and their JSON
           queue_catalog, queue_is_done      what is installed; whether a call has committed
           queue_due                         in which of many queues something is due, as due_<queue> finds
           queue_sleep, _ring, _may_ring_fn  who is woken when something is added
           queue_await, queue_ring_waiters   who is woken when an item ends
  Queue    {{ called }}{{ ", " ~ queue ~ "_type, " ~ queue ~ "_seq" if own }}{{ ", " ~ queue ~ "_lease (what the table has no column for)" if beside }}{{ ", " ~ queue ~ "_progress" if progress }}
  Public   _utx is called in the caller's transaction, _trx by itself, by the same statements; _set_ takes many items

CALLS
  add_{{ queue }}_trx, _utx, _set_utx          > add_{{ queue }}_set_trx
  next_{{ queue }}_utx > next_{{ queue }}_trx        > next_{{ queue }}_set_trx > recover_{{ queue }}_trx; among refused items, next_{{ queue }}_apart_trx,
                                         which has claim_{{ queue }}_trx try halves of them{{ " (the others claim by that, too)" if beside }}
{%- if limits %}
  next_{{ queue }}_set_trx, _apart_trx        > room_{{ queue }} > limit_{{ queue }}_<n>{{ "; then spend_" ~ queue ~ " > limit_" ~ queue ~ "_<n>" if rates }}
{%- endif %}
  modify_{{ queue }}_trx > _utx > _set_utx     > modify_{{ queue }}_set_trx > ring_holders_{{ queue }}, ring_waiters_{{ queue }}; then, to claim as well, next_{{ queue }}_set_trx
  retain_{{ queue }}_trx, where it is          > purge_{{ queue }}_trx
  queue_due                              > due_{{ queue }}
  recover_, redrive_, renew_, find_, purge_, claimed_, stats_, watch_{{ queue }} call only what the schema has

LOCKS, IN THIS ORDER
  1. queue_operation   the call's row; a second call of its identity waits for it
{%- if turns %}
  2. queue_turn        the queue's row: one claim at a time, to the end of its transaction{{ "; in its turn it reads and writes queue_limit" if limits }}
{%- endif %}
  {{ 3 if turns else 2 }}. {{ called }}: rows FOR NO KEY UPDATE in the order of their keys (settle, redrive), waited for; else (claim, recover, renew)
     passing over those that others hold
{%- if beside %}
  {{ 4 if turns else 3 }}. {{ queue }}_lease: the row beside an item, after the item's own
{%- endif %}
{%- if progress %}
  {{ (4 if turns else 3) + (1 if beside else 0) }}. {{ queue }}_progress: the row of an item, after {{ "that" if beside else "the item's own" }}
{%- endif %}
  queue_transition is only read. queue_recovery, queue_lifeline{{ ", queue_retention" if retains }}, queue_sleeper and queue_awaited are passed over where another
  holds them. queue_refused comes last.
  queue_action, queue_worker and queue_minute: alone, in calls of their own.

SETTINGS OF THE FUNCTIONS
  SECURITY DEFINER, search_path     a role that may execute them needs no right on the tables, and nothing of its own is found by a name
  timezone = UTC                    texts are read, and written, in UTC
  plan_cache_mode, enable_...       one access path is right, however many rows there are today: the index, in its order. Tables are joined
                                    by BETWEEN two equal keys for the same reason: by =, a plan that is made for an empty table would read
                                    all of it, and be kept when it is full
{%- endif %}
*/
BEGIN;
{% endfilter %}
{% filter statement %}
SET LOCAL client_min_messages = warning;
{% endfilter %}
{% filter statement %}
SELECT pg_advisory_xact_lock(hashtextextended({{ text(lock) }}, 0))
WHERE NOT {% include "part/is_there.sql" %};
{% endfilter %}
{% filter statement %}
/* Nothing of anybody else's is run on the way. */
SET LOCAL search_path = pg_catalog, pg_temp;
{% endfilter %}
{% filter statement %}
{% include "part/citus.sql" %};
{% endfilter %}
{% filter statement %}
DO $$
DECLARE
    other_ record;
BEGIN
{%- set names = text(names) ~ "::json" %}
    FOR other_ IN
{% filter indent(4, true) %}{% include "part/owners.sql" %}{% endfilter %}
    LOOP
        RAISE EXCEPTION '% % % %', other_.kind, other_.name, other_.verb, other_.owner
        USING ERRCODE = '42501', HINT = other_.remedy;
    END LOOP;
END;
$$;
{% endfilter %}
{% filter statement %}
{% include "part/lock_schema.sql" %};
{% endfilter %}
