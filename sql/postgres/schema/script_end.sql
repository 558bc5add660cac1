{%- if versions %}
{% filter statement %}
/* The versions and the queue that are installed now. */
INSERT INTO {{ object("queue_schema_version") }} (version, applied_at, library)
VALUES
{%- for number in versions %}
    ({{ number }}, clock_timestamp(), {{ text(library) }}){{ "," if not loop.last }}
{%- endfor %}
ON CONFLICT DO NOTHING;
{% endfilter %}
{%- endif %}
{%- if queue %}
{% filter statement %}
INSERT INTO {{ object("queue_spec") }} (queue, preset, spec, rendered_by, installed_at)
VALUES (
    {{ text(queue) }},
    {{ text(preset) }},
    {{ text(spec) }},
    {{ version }},
    clock_timestamp()
)
ON CONFLICT (queue) DO UPDATE
SET preset = excluded.preset, spec = excluded.spec, rendered_by = excluded.rendered_by;
{% endfilter %}
{%- endif %}
{% filter statement %}
COMMIT;
{% endfilter %}
