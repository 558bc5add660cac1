    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.maxAttempts'), {{ max_attempts }}
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.leaseMs'),
        {{ lease_ms }}
    );
