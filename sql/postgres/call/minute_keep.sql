SELECT k.place FROM {{ object("queue_minute_keep") }}(?::json) AS k (place)
