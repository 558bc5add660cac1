                k.[Was],{# An item as a settlement makes it: k is its verdict, i what was given, q and s the item as it is. #}
                k.[Status], k.[AttemptNum], k.[Token],
                COALESCE(i.[Step], {{ item.step(t) }}) AS [Step],
                COALESCE(i.[Response], {{ item.response(t) }}) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                        )
                    /* Earlier errors are over. */
                    WHEN k.[Status] = 'Completed' THEN NULL
                    ELSE {{ item.error(t) }}
                END AS [Error],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                    ELSE {{ item.started(t) }}
                END AS [StartedAt],
                CASE WHEN {{ item.finished("k.[Status]") }} THEN @_Now END AS [FinishedAt],
                CASE
                    WHEN {{ item.finished("k.[Status]") }}
                        THEN DATEDIFF_BIG(MILLISECOND, {{ item.started(t) }}, @_Now)
                END AS [Duration],
                COALESCE(
                    i.[DueAt],
{%- if backoff %}
{% filter indent(20, true) %}{% include "part/backoff.sql" %}{% endfilter %},
{%- endif %}
                    /* An item that failed is due again: its row beside says when, or nobody finds it. */
                    CASE WHEN k.[Status] = 'Error' THEN {{ item.due_at(t) if role.due else "@_Now" }} END
                ) AS [DueAt],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                    ELSE {{ item.owner(t) }}
                END AS [LeaseOwner],
{%- if lease_sliding %}
                CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil]
{%- else %}
                /* The lease is fixed: a step goes on with what is left of it. */
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] = 'Processing'
                        THEN {{ item.until(t, "@_SilentMs") }}
                    WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now)
                END AS [LeaseUntil]
{%- endif -%}
