    replayed_ := operation_ IS NOT NULL AND {{ object("queue_begun") }}(operation_, '{{ procedure }}', now_);
