    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION '{{ procedure }}: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION '{{ procedure }}: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
