                            /*
                            {{ backoff.first_ms }} ms after the first attempt{% if backoff.factor_percent != 100 %}, {{ backoff.factor_percent }} per cent of the delay before after each further one,
                            at most {{ backoff.cap_ms }} ms{% endif %}{% if backoff.jitter_percent %}; up to {{ backoff.jitter_percent }} per cent less by chance, for each item anew{% endif %}.
                            */
{%- if backoff.factor_percent == 100 %}
                            {{ [backoff.first_ms, backoff.cap_ms] | min }}
{%- else %}
                            /* The logarithm keeps the power from overflowing before the cap counts. */
                            EXP(LEAST(
                                LN({{ backoff.first_ms }}::float8)
                                + (r.item_attempt - 1) * LN({{ backoff.factor_percent }} / 100.0::float8),
                                LN({{ backoff.cap_ms }}::float8)
                            ))
{%- endif %}
{%- if backoff.jitter_percent %}
                            * (1 - random() * {{ backoff.jitter_percent }} / 100)
{%- endif %}
