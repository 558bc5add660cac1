{CALL {{ object("QueueDue") }} (?)}
