    /* First of all: if another attempt of this very call is under way, this waits for it. */
    IF operation_ IS NOT NULL THEN
        INSERT INTO {{ object("queue_operation") }} (operation_id, at)
        VALUES (operation_, now_)
        ON CONFLICT (operation_id) DO NOTHING;
        replayed_ := NOT FOUND;
    END IF;
