{CALL {{ object("QueueLifelineTake") }} (?, ?)}
