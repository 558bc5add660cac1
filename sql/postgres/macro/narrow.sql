{#-
Tries `body` on all keys in the arrays, and where the table refuses, on half of them, and so on: until the rows are known that
it refuses, which are left aside. `body` works on the keys from_ to to_ (m.keys_tried), and puts those that it changed, as
text, into done_. Around it stands a savepoint, only here.
`after`: what follows where they were let through. `ends` is when to leave off before the last.
-#}
{%- import "macro/item.sql" as m -%}
{%- macro variables() %}
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
{%- endmacro -%}
{%- macro narrow(doing, body, after="", ends=none) %}
    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN
{{ ("        " ~ (body | trim)) | indent(4, true) }}
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS state_ = RETURNED_SQLSTATE, reason_ = MESSAGE_TEXT, constraint_ = CONSTRAINT_NAME;
            IF NOT {{ object("queue_is_refusal_fn") }}(state_) THEN
                RAISE;
            END IF;
            refused_ := TRUE;
        END;
        IF refused_ AND to_ > from_ THEN
            to_ := (from_ + to_) / 2;
            CONTINUE;
        ELSIF refused_ THEN
            answer := 'REFUSED';
{%- if own_types_only %}
            answer_key := NULL;
{%- else %}
            answer_key := (SELECT {{ m.key_text("k.key_") }} FROM {{ m.keys_tried() }});
{%- endif %}
            answer_status := '{{ doing }}: ' || reason_;
            answer_attempt := {{ object("queue_note_refusal") }}(
                '{{ queue }}', (SELECT {{ m.key_kept("k.key_") }} FROM {{ m.keys_tried() }}),
                '{{ doing }}', state_, reason_, constraint_
            );
            RETURN NEXT;
        ELSE
{{- after }}
            DELETE FROM {{ object("queue_refused") }} AS x
            WHERE x.queue = '{{ queue }}' AND x.key = ANY(done_);
{%- if ends %}
            EXIT WHEN {{ ends }};
{%- endif %}
        END IF;
        from_ := to_ + 1;
        to_ := CARDINALITY(key_1_);
    END LOOP;
{%- endmacro -%}
