# Two commands are enough: `make demo` to see it work, `make test` to check everything. Both set up what they need.

.DEFAULT_GOAL := help
.PHONY: help setup demo test bench lint install clean

# Of each target line below, its name and the sentence after the two number signs.
help: ## Lists these targets.
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## Installs what is missing: apt packages, both ODBC drivers, the SQL linter (the latter below .local/).
	@.ci/setup.sh

# The library is built first, so that the C program only links it. A database of your own is used as it is, with your
# own ODBC settings if you have any; else the demo gets a throw-away cluster.
demo: setup ## Runs the C example on a throw-away PostgreSQL, or on the database that READPAST_CONNECTION names.
	cargo build --release
	$(MAKE) -C bindings/c demo
	@if [ -n "$$READPAST_CONNECTION" ]; then \
	    export ODBCSYSINI="$${ODBCSYSINI:-$(CURDIR)/.local/odbc}"; \
	    bindings/c/demo.sh; \
	else \
	    .ci/with_cluster.sh bindings/c/demo.sh; \
	fi

test: setup ## Runs every check, on PostgreSQL and, when READPAST_TEST_SQLSERVER is set, on that SQL Server.
	@.ci/test.sh

bench: setup ## Measures throughput on a throw-away PostgreSQL that syncs to disk.
	.ci/with_cluster.sh cargo bench

lint: setup ## Runs those checks that need no database server.
	@.ci/test.sh lint

install: ## Installs the command readpast into ~/.cargo/bin.
	cargo install --locked --path .

clean: ## Removes everything that was built or installed below this directory; apt packages stay.
	cargo clean
	$(MAKE) -C bindings/c clean
	rm -rf .local
