SELECT r.* FROM {{ object("add_" ~ queue ~ "_set_trx") }}(?::uuid, ?::json, '{{ items_number }}') AS r
