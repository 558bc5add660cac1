# Two commands are enough: `make demo` to see it work, `make test` to check everything. Both set up what they need.

.DEFAULT_GOAL := help
.PHONY: help setup demo workers test bench lint semver install clean

languages := c cpp csharp python go rust
# What .ci/setup.sh had to install itself.
export PATH := $(CURDIR)/.local/go/bin:$(PATH)

# Of each target line below, its name and the sentence after the two number signs.
help: ## Lists these targets.
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## Installs what is missing: apt packages, both ODBC drivers, the SQL linter (the latter below .local/).
	@.ci/setup.sh

# A database of your own is used as it is, with your own ODBC settings if you have any; else the demo gets a throw-away
# cluster.
demo: setup workers ## Runs the demo on a throw-away PostgreSQL, or on the database that READPAST_CONNECTION names.
	@if [ -n "$$READPAST_CONNECTION" ]; then \
	    export ODBCSYSINI="$${ODBCSYSINI:-$(CURDIR)/.local/odbc}"; \
	    bindings/c/demo.sh; \
	else \
	    .ci/with_cluster.sh bindings/c/demo.sh; \
	fi

# The library first: all of them link it, or pack it.
workers: setup
	@.ci/stage.sh
	@for language in $(languages); do $(MAKE) --no-print-directory -C bindings/$$language build || exit 1; done

test: setup ## Runs every check, on PostgreSQL and, when READPAST_TEST_SQLSERVER is set, on that SQL Server.
	@.ci/test.sh

bench: setup workers ## Measures throughput, and what each language adds to it, on a throw-away PostgreSQL that syncs to disk.
	@benches/peers/setup.sh
	.ci/with_cluster.sh cargo bench

lint: setup ## Runs those checks that need no database server.
	@.ci/test.sh lint

semver: setup ## Compares the crate's API with the last release's; builds the tool for it first, once, for ten minutes.
	@bindings/rust/check_semver.sh

install: ## Installs the command readpast into ~/.cargo/bin.
	cargo install --locked --path .

clean: ## Removes everything that was built or installed below this directory; apt packages stay.
	cargo clean
	for language in $(languages); do $(MAKE) -C bindings/$$language clean || exit 1; done
	rm -rf .local
