    /*
    What of it is there already. The locks are on the index alone, in its order, and on the gaps where new rows
    belong: whoever enqueues the same work at the same time waits, and then finds it.
    */
    INSERT INTO @Seen ([Ordinal], [EnqueuedAt])
    SELECT n.[Ordinal], q.[EnqueuedAt]
    FROM (
        SELECT TOP (1000) m.[Ordinal]{% for column in work %}, m.[Work{{ loop.index }}]{% endfor %}
        FROM @New AS m
        ORDER BY {% for column in work %}m.[Work{{ loop.index }}], {% endfor %}m.[Ordinal]
    ) AS n
    INNER JOIN {{ object(queue) }} AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, INDEX ([IX_{{ queue }}_Work]))
        ON
{%- for column in work %}
            {{ "AND " if not loop.first }}q.{{ column.quoted }} = n.[Work{{ loop.index }}]
{%- if column.nullable %}
            AND q.{{ column.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
{%- if dedup.unfinished_only %}
            AND q.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
    OPTION (LOOP JOIN, FORCE ORDER);

    /* The same work twice in one call: the first counts. */
    INSERT INTO @Seen ([Ordinal], [EnqueuedAt])
    SELECT r.[Ordinal], r.[First]
    FROM (
        SELECT
            n.[Ordinal],
            MIN(n.[EnqueuedAt]) OVER (
                PARTITION BY {% for column in work %}n.[Work{{ loop.index }}]{{ ", " if not loop.last }}{% endfor %}
            ) AS [First],
            ROW_NUMBER() OVER (
                PARTITION BY {% for column in work %}n.[Work{{ loop.index }}]{{ ", " if not loop.last }}{% endfor %} ORDER BY n.[Ordinal]
            ) AS [Place]
        FROM @New AS n
{%- for column in work %}
        {{ "WHERE" if loop.first else "AND" }} n.[Work{{ loop.index }}] IS NOT NULL
{%- endfor %}
    ) AS r
    WHERE
        r.[Place] > 1
        AND NOT EXISTS (SELECT 1 FROM @Seen AS s WHERE s.[Ordinal] = r.[Ordinal]);
