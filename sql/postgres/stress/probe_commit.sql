INSERT INTO {{ table }} (n) VALUES (1)
