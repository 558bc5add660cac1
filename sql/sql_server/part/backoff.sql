CASE
    WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
        THEN (
            SELECT b.[RetryAt]
            FROM {{ object("QueueBackoff_fn") }}(
                @_Now, k.[AttemptNum],
                {{ backoff.first_ms }},
                {{ backoff.factor_percent / 100 }},
                {{ backoff.cap_ms }},
                {{ backoff.jitter_percent / 100 }},
                {{ "ABS(CHECKSUM(NEWID()) % 10001) / 10000.0" if backoff.jitter_percent else "0" }}
            ) AS b
        )
END
