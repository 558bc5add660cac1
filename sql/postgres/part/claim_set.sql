{#-
A claim of up to max_ items: all that a function does after it has looked at what it was given. It stands in two functions, since
one that called the other would hand each row on twice.
-#}
{%- if resume_own %}
    IF recover_ = 2 THEN
        PERFORM FROM {{ object("recover_" ~ queue ~ "_trx") }}(1000, worker_);
    END IF;
{%- endif %}
    IF recover_ > 0 THEN
        PERFORM FROM {{ object("recover_" ~ queue ~ "_trx") }}(100, recover_ => recover_);
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
