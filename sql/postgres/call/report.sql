{% include "part/lazily.sql" %}SELECT r.* FROM {{ "lazily CROSS JOIN " if not durable }}{{ object("progress_" ~ queue ~ "_set_trx") }}(?::text, ?::json) AS r
