{#-
Due items of the kinds that are asked for, by the index of `search`.
-#}
{%- import "macro/take_due.sql" as take -%}
{%- set whens = kind.whens(t, role) | split(" ") %}
        /*
        The kinds that are asked for, each sought by itself: what waits of others is neither read nor locked. First
        it is looked up, without locks, how many of each come first in the order of all; then so many are taken.
        Should others have some of them by now, what comes next makes up for it.
        */
        INSERT INTO @_Wanted ({{ "[Type]" if search.type }}{{ ", " if search.type and search.step }}{{ "[Step]" if search.step }})
        SELECT DISTINCT {{ "y.[Type]" if search.type }}{{ ", " if search.type and search.step }}{{ "s.[Step]" if search.step }}
        FROM {% if not search.type %}(
            SELECT CAST(j.[value] AS nvarchar(60)) AS [Step]
            FROM OPENJSON(@Steps) AS j
            UNION ALL
            SELECT NULL
            FROM OPENJSON(@Steps) AS j
            WHERE j.[value] = N''
        ) AS s
{%- else %}
{%- if searches_all %}(SELECT CAST(j.[value] AS nvarchar(60)) AS [Type] FROM OPENJSON(@Types) AS j) AS y
{%- else %}{{ object(queue ~ "Type") }} AS y
{%- endif %}
{%- if search.step %}
        CROSS JOIN (
            SELECT CAST(j.[value] AS nvarchar(60)) AS [Step]
            FROM OPENJSON(@Steps) AS j
            UNION ALL
            SELECT NULL
            FROM OPENJSON(@Steps) AS j
            WHERE j.[value] = N''
        ) AS s
{%- endif %}
{%- if own_types_only %}
        WHERE
            {% filter indent(12) %}{% include "part/type_list.sql" %}{% endfilter %}
{%- if not searches_all %}
            AND (@Types IS NULL OR EXISTS (SELECT 1 FROM OPENJSON(@Types) AS j WHERE j.[value] = y.[Type]))
{%- endif %}
{%- endif %}
{%- endif %};
        SET @_Took = @@ROWCOUNT;
{%- if search.type %}
        IF @_Paused = 1
        BEGIN
            DELETE w
            FROM @_PausedType AS z
            INNER JOIN @_Wanted AS w ON w.[Type] = z.[Type];
            SET @_Took = @_Took - @@ROWCOUNT;
        END;
{%- endif %}

        IF @_Took > 1
            INSERT INTO @_Turns ([Kind], [Most])
            SELECT x.[Kind], COUNT(*)
            FROM (
                SELECT TOP (@Max)
                    w.[Kind],
                    ROW_NUMBER() OVER (
                        ORDER BY {% for c in due_columns %}h.[By{{ loop.index }}]{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}
                    ) AS [Place]
                FROM @_Wanted AS w
                CROSS APPLY (
{%- for without_step in [false, true] if search.step or not without_step %}
{%- set outer_first = loop.first %}
{%- for when_due in whens %}
{%- if not outer_first or not loop.first %}
                    UNION ALL
{%- endif %}
                    SELECT {% for c in due_columns %}n.[By{{ loop.index }}]{{ ", " if not loop.last }}{% endfor %}
                    FROM (
                        SELECT TOP (@Max)
{%- for c in due_columns %}
                            q.{{ c.quoted }} AS [By{{ loop.index }}]{{ "," if not loop.last }}
{%- endfor %}
                        FROM {{ table }} AS q
                            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ search.index }}))
                        WHERE
                            {{ kind.is(search, role, "w.[Type]", "w.[Step]", without_step) }}
{%- if without_step %}
                            AND w.[Step] IS NULL
{%- endif %}
                            AND {{ item.waits(t) }}
{{- item.and_free(t) | indent(16) }}
{%- if when_due %}
                            AND {{ kind.due(t, when_due) }}
{%- endif %}
                            AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE {{ item.part_of(t, "a", "q") }})
{%- if role.kind and not search.type %}
                            AND NOT EXISTS (SELECT 1 FROM @_PausedType AS z WHERE z.[Type] = {{ item.plain(t, "q." ~ role.kind) }})
{%- endif %}
{%- if own_types_only and not search.type %}
                            AND {% filter indent(28) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if group %}
{% filter indent(16, true) %}{% include "part/group_free.sql" %}{% endfilter %}
{%- endif %}
                        ORDER BY {{ kind.ordered(due_columns) }}
                    ) AS n
{%- endfor %}
{%- endfor %}
                ) AS h
                ORDER BY [Place]
            ) AS x
            GROUP BY x.[Kind]
            ORDER BY MIN(x.[Place])
            OPTION (LOOP JOIN, FORCE ORDER);

        IF @_Took = 1 OR (SELECT SUM(n.[Most]) FROM @_Turns AS n) = @Max
            INSERT INTO @_Turns ([Kind], [Most])
            SELECT w.[Kind], @Max
            FROM @_Wanted AS w
            ORDER BY w.[Kind];

        WHILE @_Locked < @Max AND EXISTS (SELECT 1 FROM @_Turns AS n WHERE n.[Turn] = @_Turn)
        BEGIN
            SELECT
{%- if search.type %}
                @_KindType = w.[Type],
{%- endif %}
{%- if search.step %}
                @_KindStep = w.[Step],
{%- endif %}
                @_Take = CASE WHEN n.[Most] < @Max - @_Locked THEN n.[Most] ELSE @Max - @_Locked END
            FROM @_Turns AS n
            INNER JOIN @_Wanted AS w ON w.[Kind] = n.[Kind]
            WHERE n.[Turn] = @_Turn
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Turn = @_Turn + 1;
{%- for without_step in [false, true] if search.step or not without_step %}
{%- if search.step %}
{%- if without_step %}
            ELSE
            BEGIN
{%- else %}
            IF @_KindStep IS NOT NULL
            BEGIN
{%- endif %}
{%- endif %}
{%- for when_due in whens %}
{{- take.due(when_due, search, without_step) | indent(8 if search.step else 4, true) }}
                SET @_Took = @@ROWCOUNT;
                SET @_Locked = @_Locked + @_Took;
{%- if not loop.last %}
                SET @_Take = @_Take - @_Took;
{%- endif %}
{%- endfor %}
{%- if search.step %}
            END{{ ";" if without_step }}
{%- endif %}
{%- endfor %}
        END;
{% include "part/placed.sql" %}
