{#- `error` is the column of what was decided that has the error of the attempt that ended; `outcome` is what became of it. -#}
{%- import "macro/item.sql" as m -%}
{%- macro attempted(error, outcome="d.status") %}

    /* Ended attempts are remembered. Nothing stays of those that leave with their items. */
    attempted AS (
        INSERT INTO {{ object(queue ~ "_attempt") }} (
            {{ m.list("key_") }}, attempt_num, worker, started_at, ended_at, outcome, step, response, error
        )
        SELECT
            {{ m.list("d.key_") }}, d.ended_attempt, d.ended_owner, d.ended_started_at, now_, {{ outcome }}, d.ended_step,
            d.ended_response, d.{{ error }}
        FROM {{ "decided" if own else "changed" }} AS d
        WHERE d.ended{{ " AND d.status <> 'Completed'" if completion == "delete" }}
    )
{%- endmacro -%}
