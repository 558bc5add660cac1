{% include "part/lazily.sql" %}SELECT n.* FROM {{ "lazily CROSS JOIN " if not durable }}{{ object("progress_" ~ queue ~ "_set_trx") }}(?::text, ?::json) AS n
