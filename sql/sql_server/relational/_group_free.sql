            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight (of two
            producers at once the later key may be committed first), the others wait. An item without a group waits
            for nobody.
            */
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue) }} AS e WITH (FORCESEEK, INDEX ([IX_{{ queue }}_Group]))
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND e.[EnqueuedAt] < q.[EnqueuedAt]
                    AND e.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
            )
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue) }} AS h WITH (FORCESEEK, INDEX ([IX_{{ queue }}_Held]))
                WHERE
                    h.{{ group }} = q.{{ group }}
                    AND h.[Status] = 'Processing'
            )