    found_ := COALESCE(CARDINALITY(key_1_), 0);
    IF found_ >= max_ OR dead_ IS NOT NULL THEN PERFORM {{ object("queue_recovery_goes_on") }}('{{ queue }}', CASE WHEN found_ < max_ THEN dead_ END);
    END IF;
