    SET @Number = NEXT VALUE FOR {{ object(queue ~ "_Seq") }};
    SET @EnqueuedAt = DATEADD(MICROSECOND, @Number % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7)));

    INSERT INTO {{ object(queue) }} (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt]{% for column in columns %},
        {{ column.quoted }}{% endfor %}
    )
    VALUES (
        @EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @Now), @Now{% for column in columns %},
        {{ column.parameter }}{% endfor %}
    );
