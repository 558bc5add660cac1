{CALL {{ object("Add_" ~ queue ~ "_Set_utx") }} (?, ?)}
