{% filter made("TABLE", queue ~ "_attempt") %}
/*
The outcome of each attempt at an item: the first error is there when the last one stands in the item. A row goes with its
item; what was released was not begun, and has none.
*/
CREATE TABLE IF NOT EXISTS {{ object(queue ~ "_attempt") }} (
{%- for column in key %}
    key_{{ loop.index }} {{ column.type }} NOT NULL,
{%- endfor %}
    number bigint GENERATED ALWAYS AS IDENTITY, /* in the order in which they ended */
    attempt_num integer NOT NULL, worker text NULL, started_at timestamptz NULL, ended_at timestamptz NOT NULL,
    outcome text NOT NULL, /* the state that the item had then */
    step text NULL, response text NULL, error text NULL,
    PRIMARY KEY ({{ m.list("key_") }}, number)
);
{% endfilter %}
{%- if attempt_retention %}
{% call index_of.create(queue ~ "_attempt_ended", queue ~ "_attempt", [column("ended_at")]) %}
/* Attempts that are old enough to be forgotten. */
{%- endcall %}
{%- endif %}
