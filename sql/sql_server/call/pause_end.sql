{CALL {{ object("QueuePauseEnd") }} (?, ?)}
