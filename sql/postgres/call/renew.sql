{% include "part/lazily.sql" %}SELECT r.* FROM {{ "lazily CROSS JOIN " if not durable }}{{ object("renew_" ~ queue ~ "_set_trx") }}(?::text, ?::json, ?::integer) AS r
