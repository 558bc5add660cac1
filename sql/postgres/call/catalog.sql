SELECT * FROM {{ object("queue_catalog") }}()
