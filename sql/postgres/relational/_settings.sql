    max_attempts_ := COALESCE(
        (SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = '{{ setting }}.maxAttempts'), {{ max_attempts }}
    );
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE(
            (SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = '{{ setting }}.leaseMs'), {{ lease_ms }}
        );
    END IF;
