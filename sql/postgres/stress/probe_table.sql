CREATE TABLE {{ table }} (n int NOT NULL)
