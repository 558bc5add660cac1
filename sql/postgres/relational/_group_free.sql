            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight (of two
            producers at once the later key may be committed first), the others wait. An item without a group waits for
            nobody. Rows are compared, and OFFSET stands there, so that the plan is a search in the index of groups,
            however small the table is when it is made.
            */
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue) }} AS e
                WHERE
                    (e.{{ group }}, e.enqueued_at) < (q.{{ group }}, q.enqueued_at)
                    AND e.{{ group }} >= q.{{ group }}
                    AND e.status IN ('Pending', 'Processing', 'Error', 'Paused')
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue) }} AS h
                WHERE
                    h.{{ group }} BETWEEN q.{{ group }} AND q.{{ group }}
                    AND h.status = 'Processing'
                OFFSET 0
            )
