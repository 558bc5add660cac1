    SET @SilentMs = COALESCE(
        (SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.leaseMs'), {{ lease_ms }}
    );
