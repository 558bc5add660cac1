    SELECT f.*
    INTO f_
    FROM {{ object("queue_filter") }}('{{ procedure }}', filter_, max_) AS f;
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(
            SELECT {{ "k.key" if composite else "k.key::" ~ m.key_given() }} FROM json_array_elements{{ "_text" if not composite }}(f_.keys) AS k (key)
        );
    END IF;
