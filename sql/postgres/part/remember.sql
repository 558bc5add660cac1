    replayed_ := {{ object("queue_begun") }}(operation_, '{{ procedure }}', now_);
