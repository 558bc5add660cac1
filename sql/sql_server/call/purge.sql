{CALL {{ object("Purge_" ~ queue ~ "_trx") }} (?, ?)}
