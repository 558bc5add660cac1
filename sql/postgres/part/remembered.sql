    /* Remembered for a repeated call: values that the items do not hold later. */
    remembered AS (
        UPDATE {{ object("queue_operation") }} AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            /* Citus sends a comparison with NULL to no node. */
            p.operation_id = COALESCE(operation_, '00000000-0000-0000-0000-000000000000')
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )
