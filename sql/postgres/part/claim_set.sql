{#-
A claim of up to max_ items: all that a function does after it has looked at what it was given. It stands in two functions, since
one that called the other would hand each row on twice.
-#}
{%- if resume_own %}
    IF recover_ = 2 THEN
        RETURN QUERY
        SELECT r.*,
{{- m.no_item() }}
        FROM {{ object("recover_" ~ queue ~ "_trx") }}(1000, worker_) AS r
        WHERE r.answer = 'REFUSED';
    END IF;
{%- endif %}
    IF recover_ > 0 THEN
        RETURN QUERY
        SELECT r.*,
{{- m.no_item() }}
        FROM {{ object("recover_" ~ queue ~ "_trx") }}(100, recover_ => recover_) AS r
        WHERE r.answer = 'REFUSED';
    END IF;
    IF EXISTS (SELECT 1 FROM {{ object("queue_refused") }} AS x WHERE x.queue = '{{ queue }}') THEN
        /* The table refuses some: around those. */
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_apart_trx") }}(
            worker_, max_, lease_ms_{{ ", started_at_" if run_time }}{{ ", types_ => types_" if asks_types }}{{ ", steps_ => steps_" if asks_steps }}{{ ", claim_ => claim_" if marks_claims }}
        ) AS n;
        RETURN;
    END IF;
{%- if group %}

    /*
    One claim at a time, to the end of its transaction: which items are the first of their groups is not decided by two
    at once. Whoever holds this waits for nobody else. It is a row, since only who may claim can lock it through here.
    */
{{- m.turn(procedure, queue) }}
{%- endif %}

    now_ := clock_timestamp();
{%- if beside %}
{% include "part/claim_beside.sql" %}
{%- else %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    IF {{ m.kinds_given(search) }} THEN
{%- endif %}
{% include "part/kinds_asked.sql" %}
    RETURN QUERY
{% include "part/claim.sql" %};
{%- if not loop.last or searches_all %}
    ELSE
{%- endif %}
{%- endfor %}
{%- if searches_all %}
{%- set search = none %}
{%- if shards %}
    shard_turn_ := nextval({{ literal(queue ~ "_shard_turn") }});
{%- endif %}
    RETURN QUERY
{% include "part/claim.sql" %};
{%- endif %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    END IF;
{%- endif %}
{%- endfor %}
    IF FOUND THEN
        RETURN;
    END IF;
{%- endif %}

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
{%- include "part/next_due.sql" %}
    RETURN NEXT;
