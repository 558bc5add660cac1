-- The answer of the fifth document's author to the question about a limited number of attempts: "a NumAttempts column
-- could be added". It is counted as Coalesce(NumAttempts, 0) + 1 there, so it may be NULL.
ALTER TABLE [Queue] ADD NumAttempts int NULL;
