{#-
The claim of the items in `found`, which come in their order: as `decided`, for the writer. `knows_refused`: it has how often the table
has refused each, and why. `one`: it is of one item, whose order nobody asks for.
-#}
{%- set attempts = "f.item_attempt" ~ (" + f.refusals" if knows_refused else "") %}
{%- set over = attempts ~ " >= max_attempts_" ~ (" OR COALESCE(e." ~ expires ~ " <= now_, FALSE)" if expires else "") %}
{%- set found_out %}
            SELECT
                f.*, {{ over }} AS is_spent,
                {{ "NOT (" ~ over ~ ")" if expires else attempts ~ " < max_attempts_" }} AND f.item_died_at IS NOT NULL AS alone
{%- if expires %},
                CASE WHEN e.{{ expires }} <= now_ THEN e.{{ expires }}::timestamptz END AS expired_at
{%- endif %}
            FROM found AS f
{%- if expires %}
            /* Their rows are locked: the times stay as they are. */
            INNER JOIN {{ table }} AS e
                ON {% for column in key %}{{ "AND " if not loop.first }}e.{{ column.quoted }} = f.key_{{ loop.index }} {% endfor %}
{%- endif %}
{%- if not knows_refused %}
            /* While the table refuses some, or they are paused, the claim goes around those: asked first, and nothing is locked then. */
            WHERE NOT {{ m.goes_around() | indent(8) }}
{%- endif %}
{%- endset %}
{%- if not one %}
    /*
    In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
    back from a dead worker, which it may have killed.
    */
{%- endif %}
    decided AS {{ "MATERIALIZED " if knows_refused or not own }}(
        SELECT
            {{ m.list("v.key_") }},
            {{ m.seeks("v.item_seek_", "seek_") }}{{ "'OK' AS answer, " if not own }}{{ "v.position, " if not one }}v.alone,
{%- if marks_claims %}
            CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
{%- endif %}
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE {{ "WHEN v.expired_at IS NOT NULL THEN 'Cancelled' " if expires }}WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            {{ m.later("v.item_token") }} AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
{%- if expires %}
                WHEN v.expired_at IS NOT NULL
                    THEN format(
                        'Not begun by %s, when it expired.', to_char(v.expired_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                    )
{%- endif %}
{%- if knows_refused %}
                WHEN v.is_spent AND v.refusals > 0
                    THEN format('The table refused it %s times, and attempts are spent: %s', v.refusals, v.refused)
{%- endif %}
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
{%- if not own %}
                ELSE v.item_error
{%- endif %}
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + {{ m.interval_ms("lease_ms_") }} END AS lease_until,
{%- if not own %}
            v.item_step AS step, v.item_response AS response,
            CASE WHEN v.is_spent THEN v.item_started_at ELSE now_ END AS started_at,
            {{ "COALESCE(started_at_, now_)" if run_time else "now_" }} AS run_started_at,
            CASE WHEN v.is_spent THEN v.item_duration END AS duration, v.item_due_at AS due_at,
            CASE WHEN v.is_spent THEN v.item_owner ELSE worker_ END AS owner, NULL::timestamptz AS died_at,
            v.is_spent AS finishes, FALSE AS reopens, TRUE AS stays,
{%- endif %}
            NOT v.is_spent AS enters
        FROM (
{%- if one %}{{ found_out }}
        ) AS v
{%- else %}
            SELECT
                r.*, ROW_NUMBER() OVER w AS position, COUNT(*) FILTER (WHERE NOT r.is_spent) OVER w AS place,
                COUNT(*) FILTER (WHERE r.alone) OVER w AS alone_so_far
            FROM ({{ found_out | indent(4) }}
            ) AS r
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS v
        WHERE
            v.is_spent
            OR v.alone_so_far = 0
            OR (v.alone AND v.place = 1)
{%- endif %}
    ),

