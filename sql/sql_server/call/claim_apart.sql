{CALL {{ object("Next_" ~ queue ~ "_Apart_trx") }} (?, ?, ?{{ ", ?" if run_time }}{{ ", ?" if asks_types }}{{ ", ?" if asks_steps }}{{ ", ?" if marks_claims }})}
