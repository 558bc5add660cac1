SELECT * FROM {{ object("queue_due") }}(?::json)
