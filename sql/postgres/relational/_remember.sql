    /* First of all: if another attempt of this very call is under way, this waits for it. */
    INSERT INTO {{ object("queue_operation") }} (operation_id, at)
    VALUES (COALESCE(operation_, gen_random_uuid()), now_)
    ON CONFLICT (operation_id) DO NOTHING;
