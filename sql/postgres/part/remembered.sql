    /* Remembered for a repeated call: values that the items do not hold later. */
    remembered AS (
        UPDATE {{ object("queue_operation") }} AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE p.operation_id = operation_ AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )
