    /* Remembered for a repeated call, when the items may be gone. */
    UPDATE {{ object("queue_operation") }} AS p
    SET result = answers_
    WHERE p.operation_id = operation_;
