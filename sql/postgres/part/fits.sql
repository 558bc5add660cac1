{%- set its = namespace(list="v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at), v.item_started_at, v.item_duration, v.item_error") %}
{%- if not beside %}
{%- set its.list = m.of("status") ~ ", " ~ m.of("type") ~ ", " ~ m.of("token") ~ ", " ~ m.of("started_at") ~ ", " ~ m.of("duration") ~ ", " ~ m.of("error") %}
{%- endif %}
            AND {{ object("queue_fits_fn") }}(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
{{- its.list | listed(16) }}
            )
{%- if searchable %}
            AND (wanted_ IS NULL OR {{ object("queue_has_fn") }}(wanted_, to_jsonb({{ "v" if beside else "q" }})))
{%- endif %}