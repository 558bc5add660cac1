module example.org/callers

go 1.22

require (
	github.com/jackc/pgx/v5 v5.7.2
	github.com/readpast/readpast/bindings/go/readpastdata v0.1.0
)

replace github.com/readpast/readpast/bindings/go/readpastdata => ../../../bindings/go/readpastdata

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	golang.org/x/crypto v0.31.0 // indirect
	golang.org/x/sync v0.10.0 // indirect
	golang.org/x/text v0.21.0 // indirect
)
