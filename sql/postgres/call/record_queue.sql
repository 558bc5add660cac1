INSERT INTO {{ object("queue_spec") }} (queue, preset, spec, rendered_by, installed_at)
VALUES (?::text, ?::text, ?::text, ?::integer, clock_timestamp())
ON CONFLICT (queue) DO UPDATE
SET preset = excluded.preset, spec = excluded.spec, rendered_by = excluded.rendered_by
