        /*
        The caller's types, each sought by itself, first the one whose head has been due longest: what waits of
        other types is neither read nor locked.
        */
        INSERT INTO @OwnTypes ([Type], [Head])
        SELECT
            t.[Type],
            h.[ScheduledFor]
        FROM {{ object(queue ~ "Type") }} AS t
        CROSS APPLY (
            SELECT TOP (1) q.[ScheduledFor]
            FROM {{ object(queue) }} AS q
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_TypeDue]))
            WHERE
                q.[Type] = t.[Type]
                AND q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @Now
            ORDER BY
{%- for column in due_columns %}
                q.{{ column.quoted }}{{ " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS h
{%- set own = "t" %}
        WHERE {% filter indent(4) %}{% include "relational/_own_type.sql" %}{% endfilter %};

        SET @Locked = 0;
        WHILE @Locked < @Max AND EXISTS (SELECT 1 FROM @OwnTypes)
        BEGIN
            SET @OwnType = (SELECT TOP (1) o.[Type] FROM @OwnTypes AS o ORDER BY o.[Head], o.[Type]);
            DELETE FROM @OwnTypes WHERE [Type] = @OwnType;

{% filter indent(4, true) %}{% include "relational/_take_due.sql" %}{% endfilter %}
            SET @Locked = @Locked + @@ROWCOUNT;
        END;
