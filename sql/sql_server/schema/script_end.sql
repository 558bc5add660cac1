{%- if versions %}
{% filter statement %}
/* The versions and the queue that are installed now. */
INSERT INTO {{ object("QueueSchemaVersion") }} ([Version], [AppliedAt], [Library])
SELECT v.[Version], SYSUTCDATETIME(), {{ text(library) }}
FROM (VALUES
{%- for number in versions %}
    ({{ number }}){{ "," if not loop.last }}
{%- endfor %}
) AS v ([Version])
WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueSchemaVersion") }} AS s WHERE s.[Version] = v.[Version]);
{% endfilter %}
{%- endif %}
{%- if queue %}
{% filter statement %}
DECLARE @Spec nvarchar(max) = {{ text(spec) }};
UPDATE {{ object("QueueSpec") }}
SET [Preset] = {{ text(preset) }}, [Spec] = @Spec, [RenderedBy] = {{ version }}
WHERE [Queue] = {{ text(queue) }};
IF @@ROWCOUNT = 0
    INSERT INTO {{ object("QueueSpec") }} ([Queue], [Preset], [Spec], [RenderedBy], [InstalledAt])
    VALUES ({{ text(queue) }}, {{ text(preset) }}, @Spec, {{ version }}, SYSUTCDATETIME());
{% endfilter %}
{%- endif %}
{% filter statement %}
COMMIT TRANSACTION;
{% endfilter %}
{% filter statement %}
SET NOEXEC OFF;
SET DEADLOCK_PRIORITY NORMAL;
SET LOCK_TIMEOUT -1;
{% endfilter %}
