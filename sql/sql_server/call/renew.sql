{CALL {{ object("Renew_" ~ queue ~ "_Set_trx") }} (?, ?, ?)}
