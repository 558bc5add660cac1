/*
{{ backoff.first_ms }} ms after the first attempt{% if backoff.factor_percent != 100 %}, {{ backoff.factor_percent }} per cent of the delay before after each further one,
at most {{ backoff.cap_ms }} ms{% endif %}{% if backoff.jitter_percent %}; up to {{ backoff.jitter_percent }} per cent less by chance, for each item anew{% endif %}.
{%- if backoff.factor_percent != 100 %}
The exponent is bounded, so that the power never overflows: the longest delay is reached before.
{%- endif %}
*/
CASE
    WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
        THEN DATEADD(
            MILLISECOND,
            CAST(ROUND(
{%- if backoff.factor_percent == 100 %}
                {{ [backoff.first_ms, backoff.cap_ms] | min }}.0
{%- else %}
                CASE
                    WHEN
                        (k.[AttemptNum] - 1) * LOG({{ backoff.factor_percent }} / 100.0)
                        >= LOG({{ backoff.cap_ms }}.0 / {{ backoff.first_ms }})
                        THEN {{ backoff.cap_ms }}.0
                    ELSE {{ backoff.first_ms }} * POWER({{ backoff.factor_percent }} / CAST(100 AS float), k.[AttemptNum] - 1)
                END
{%- endif %}
{%- if backoff.jitter_percent %}
                * (1 - {{ backoff.jitter_percent }} / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0)
{%- endif %}, 0
            ) AS int),
            @_Now
        )
END
