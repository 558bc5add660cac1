    SELECT f.*
    INTO f_
    FROM {{ object("queue_filter") }}('{{ procedure }}', filter_, max_) AS f;
{%- if searchable %}
    wanted_ := {{ object("queue_wanted_fn") }}(
        '{{ procedure }}', filter_,
        '{ {%- for c in searchable %}"{{ c.name }}": "{{ c.name if own or beside else c.written }}"{{ ("," ~ ("\n            " if loop.index % 3 == 0 else " ")) if not loop.last }}{% endfor -%} }',
        NULL::{{ object(queue ~ "_item_v") if beside else table }}
    );
{%- else %}
    PERFORM {{ object("queue_wanted_fn") }}('{{ procedure }}', filter_, '{}', NULL::text);
{%- endif %}
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(
            SELECT {{ "k.key" if composite else "k.key::" ~ m.key_given() }} FROM json_array_elements{{ "_text" if not composite }}(f_.keys) AS k (key)
        );
    END IF;
