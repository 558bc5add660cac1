    SET @_Number = NEXT VALUE FOR {{ object(queue ~ "_Seq") }};
{%- if group %}
{% set first = "@_Number" %}
{%- filter indent(4, true) %}{% include "part/key_tick.sql" %}{% endfilter %}
{%- endif %}
    SET @_EnqueuedAt = DATEADD(MICROSECOND, @_Number % 10000, {{ "@_Tick" if group else "CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7))" }});

    INSERT INTO {{ table }} (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt]{% for c in t.columns %},
        {{ c.quoted }}{% endfor %}
    )
    VALUES (
        @_EnqueuedAt, @Type, 'Pending', @Step, 0, COALESCE(@ScheduledFor, @_Now), @_Now{% for c in t.columns %},
        {{ c.parameter }}{% endfor %}
    );
