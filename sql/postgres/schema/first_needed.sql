{#- Objects of the schema that come with the first queue that needs them, and stay for the others when it goes. -#}
{% import "macro/index.sql" as index_of -%}
{%- if group or limits or (dedup and not own) %}
{% filter made("TABLE", "queue_turn") %}
/*
A row for each queue with groups or limits, whose claims take turns, and one ("<queue> add") for each that adds no work twice to a table of
others, where adding takes turns: each locks the row to the end of its transaction.
Nothing is ever written to it, and only the functions can lock it, hence nobody who may not claim: an advisory lock could
be taken, and kept, by any login.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_turn") }} (
    queue text NOT NULL PRIMARY KEY
);
{% endfilter %}
{% filter made("FUNCTION", "queue_take_turn") %}
/*
Lets one call at a time go on, to the end of its transaction. It locks a row that only who may call this can lock: an advisory
lock any login could keep. Called by the functions of a queue.
Table access order: queue_turn.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_take_turn") }}(called_ text, name_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    PERFORM FROM {{ object("queue_turn") }} AS t WHERE t.queue = name_ FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%: the row of % in queue_turn is gone; install the queue again', called_, name_
        USING ERRCODE = 'RP014';
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_take_turn") }}(text, text) FROM public;
{% endfilter %}
{%- endif %}
{%- if limits %}
{% filter made("TABLE", "queue_limit") %}
/*
The limits of queues that have some: a row for each limit (key is ''), and one for each key of it that was given limits of its own or has
begun something at its rate. by is the column, '' for the limit of the whole queue; at_once and the rate (rate starts in rate_ms, burst of
them at once) are NULL where the description holds, and hold until then, or until another change. A rate has left tokens at tokens_at, and
all of them at full_at. Claims write it in their turn.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_limit") }} (
    queue text NOT NULL, by text NOT NULL, key text COLLATE "C" NOT NULL, has_rate boolean NOT NULL, at_once integer NULL,
    rate integer NULL, rate_ms bigint NULL, burst integer NULL, tokens double precision NULL, tokens_at timestamptz NULL,
    full_at timestamptz NULL, who text NULL, login text NULL, reason text NULL, set_at timestamptz NULL,
    until timestamptz NULL, PRIMARY KEY (queue, by, key)
)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{%- endif %}
{%- if retention or attempt_retention %}
{% filter made("TABLE", "queue_retention") %}
/*
A row for each queue whose description says how long items stay that have ended, and when what was over was last deleted, to
the end. Who deletes locks the row meanwhile, and others pass over it: one at a time.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_retention") }} (
    queue text NOT NULL PRIMARY KEY, done_at timestamptz NOT NULL
);
{% endfilter %}
{%- endif %}
{%- if schedules is not none %}
{% filter made("TABLE", "queue_schedule") %}
/* When each queue puts items in by itself. next_at moves on in the commit that puts an item in; NULL: it is not computed yet. */
CREATE TABLE IF NOT EXISTS {{ object("queue_schedule") }} (
    queue text NOT NULL, name text NOT NULL, cron text NOT NULL, zone text NOT NULL, items json NOT NULL, missed text NOT NULL,
    overlap text NOT NULL, described boolean NOT NULL, /* TRUE: the description has it */
    enabled boolean NOT NULL, next_at timestamptz NULL, last_at timestamptz NULL, fired_at timestamptz NULL, last_key text NULL,
    last_answer text NULL, PRIMARY KEY (queue, name)
);
{% endfilter %}
{%- set first = {"name": "next_at", "quoted": "next_at NULLS FIRST", "expression": none, "descending": false} %}
{% call index_of.create("queue_schedule_next_at", "queue_schedule", [column("queue"), first, column("name")]) %}
/* The next to fire, of however many. */
{%- endcall %}
{%- endif %}
