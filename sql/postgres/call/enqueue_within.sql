SELECT r.* FROM {{ object("add_" ~ queue ~ "_set_utx") }}(?::json, ?::uuid, '{{ items_number }}') AS r
