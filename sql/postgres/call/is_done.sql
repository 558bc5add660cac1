SELECT * FROM {{ object("queue_is_done") }}(?::uuid)
