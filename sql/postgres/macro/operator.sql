{#- The login must be one that may redrive items of the queue. -#}
{%- macro check(called, of) %}
    IF NOT COALESCE(
        HAS_FUNCTION_PRIVILEGE(
            session_user,
            TO_REGPROCEDURE({{ text(schema ~ ".") }} || QUOTE_IDENT('redrive_' || {{ of }} || '_set_trx') || '(uuid, json)'), 'EXECUTE'
        ), FALSE
    )
    THEN
        RAISE EXCEPTION '{{ called }}: permission denied: this login may not redrive items of %', {{ of }} USING ERRCODE = 'RP015';
    END IF;
{%- endmacro -%}
