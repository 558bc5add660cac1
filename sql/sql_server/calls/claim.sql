{CALL {{ object("Next_" ~ queue ~ "_Set_trx") }} (?, ?, ?, ?)}
