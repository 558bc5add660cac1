CREATE TABLE {{ table }} ([N] int NOT NULL)
