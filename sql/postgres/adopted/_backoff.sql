                            /* The logarithm keeps the power from overflowing before the cap counts. */
                            EXP(LEAST(
                                LN({{ backoff.first_ms }}::float8)
                                + (r.item_attempt - 1) * LN({{ backoff.factor_percent }} / 100.0::float8),
                                LN({{ backoff.cap_ms }}::float8)
                            ))
{%- if backoff.jitter_percent %}
                            /* Up to so much less, so that what failed together does not come back together. */
                            * (1 - random() * {{ backoff.jitter_percent }} / 100)
{%- endif %}
