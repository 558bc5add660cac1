    /* First of all: if another attempt of this very call is under way, this waits for it. */
    IF operation_ IS NOT NULL THEN
        INSERT INTO {{ object("queue_operation") }} (operation_id, call, at)
        VALUES (operation_, '{{ procedure }}', now_)
        ON CONFLICT (operation_id) DO NOTHING;
        replayed_ := NOT FOUND;
        IF replayed_ AND NOT EXISTS (
            SELECT 1
            FROM {{ object("queue_operation") }} AS p
            WHERE p.operation_id = operation_ AND p.call = '{{ procedure }}'
        )
        THEN
            RAISE EXCEPTION '{{ procedure }}: the operation % was another call', operation_ USING ERRCODE = 'RP021';
        END IF;
    END IF;
