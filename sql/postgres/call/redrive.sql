SELECT r.* FROM {{ object("redrive_" ~ queue ~ "_set_trx") }}(?::uuid, ?::json) AS r
