{#- The verdict of a settlement on an item, given what it is (x), what is asked for (x.[To]) and the transition (t). -#}
{%- import "part/item.sql" as item -%}

{%- macro status(parks_errors) -%}
CASE
                    /* A step keeps the claim, and the attempt is not over. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Processing' THEN 'Processing'
                    /* An item given back unworked gets its attempt back too, so none is spent. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1
                        THEN {% if parks_errors %}CASE WHEN x.[DueAt] > @_Now THEN 'Error' ELSE 'Pending' END{% else %}'Pending'{% endif %}
                    WHEN x.[AttemptNum] >= @_MaxAttempts AND x.[To] <> 'Completed' THEN 'Failed'
{%- if parks_errors %}
                    /* The table has no due time: what waits for its time stands as Error until then. */
                    WHEN x.[To] = 'Pending' AND x.[DueAt] > @_Now THEN 'Error'
{%- endif %}
                    /* In the words of readpast, however the caller wrote it. */
                    ELSE t.[ToStatus]
                END
{%- endmacro -%}

{%- macro attempts() -%}
CASE
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                    /* Processing from another state is a claim of this one item. */
                    WHEN x.[Is] <> 'Processing' AND x.[To] = 'Processing' AND x.[AttemptNum] < @_MaxAttempts
                        THEN x.[AttemptNum] + 1
                    ELSE x.[AttemptNum]
                END
{%- endmacro -%}
