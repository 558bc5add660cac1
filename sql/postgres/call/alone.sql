{#- A statement by itself, of which Citus hands no more to its nodes: the driver puts a savepoint before it. -#}
DO $readpast_do$ BEGIN EXECUTE $readpast_text${{ definition }}$readpast_text$; END; $readpast_do$
