    max_attempts_ := COALESCE(
        (SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = '{{ setting }}.maxAttempts'), 3
    );
    lease_ms_ := COALESCE(
        lease_ms_,
        (SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = '{{ setting }}.leaseMs'),
        60000
    );
