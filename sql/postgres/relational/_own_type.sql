EXISTS (
        SELECT 1 FROM {{ object("queue_own_type_v") }} AS a
        WHERE a.queue = '{{ queue }}' AND a.type IN ({{ own }}.type, '*')
    )
