    max_attempts_ := {{ m.setting_or("maxAttempts", max_attempts) }};
    IF lease_ms_ IS NULL THEN
        lease_ms_ := {{ m.setting_or("leaseMs", lease_ms) }};
    END IF;
