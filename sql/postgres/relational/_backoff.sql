/*
{{ backoff.first_ms }} ms after the first attempt{% if backoff.factor_percent != 100 %}, {{ backoff.factor_percent }} per cent of the delay before after each further one,
at most {{ backoff.cap_ms }} ms{% endif %}{% if backoff.jitter_percent %}; up to {{ backoff.jitter_percent }} per cent less by chance, for each item anew{% endif %}.
{%- if backoff.factor_percent != 100 %}
The exponent is bounded, so that the power never overflows: the longest delay is reached before.
{%- endif %}
*/
CASE
    WHEN d.status = 'Error' AND q.status = 'Processing'
        THEN now_ + interval '1 millisecond' * ROUND(
{%- if backoff.factor_percent == 100 %}
            {{ [backoff.first_ms, backoff.cap_ms] | min }}
{%- else %}
            CASE
                WHEN
                    (d.attempt_num - 1) * LN({{ backoff.factor_percent }} / 100.0::double precision)
                    >= LN({{ backoff.cap_ms }}::double precision / {{ backoff.first_ms }})
                    THEN {{ backoff.cap_ms }}
                ELSE {{ backoff.first_ms }} * POWER({{ backoff.factor_percent }} / 100.0::double precision, d.attempt_num - 1)
            END
{%- endif %}
{%- if backoff.jitter_percent %}
            * (1 - {{ backoff.jitter_percent }} / 100.0 * random())
{%- endif %}
        )
END
