module github.com/readpast/readpast/bindings/go

go 1.22
