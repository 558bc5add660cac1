    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'{{ procedure }}: @Worker is empty; a lease needs an owner.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000 (more locks than that may escalate to the table).', 1;
    IF @LeaseMs < 1
        THROW 50021, N'{{ procedure }}: @LeaseMs must be at least 1.', 1;
