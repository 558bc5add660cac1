
    answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
    answer_due_ms := {% include "part/due_ms.sql" %};
