module github.com/readpast/readpast/bindings/go/readpastdata

go 1.22
