INSERT INTO {{ table }} ([N]) VALUES (1)
