{CALL {{ object("Progress_" ~ queue ~ "_Set_trx") }} (?, ?)}
