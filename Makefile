# Two commands are enough: `make demo` to see it work, `make test` to check everything. Both set up what they need.

users_path := $(PATH)
languages := c cpp csharp python go rust

.DEFAULT_GOAL := help
.PHONY: help setup demo postgres postgres-stop workers test test-core test-browser test-callers test-deep test-fresh test-windows \
    $(languages:%=test-%) bench manual lint semver verify-sqlserver package release install install-library clean

# Tools that .ci/setup.sh installed itself.
export PATH := $(CURDIR)/.local/go/bin:$(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# The name of each target below, and the sentence after its two number signs.
help: ## Lists these targets.
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

setup: ## Installs what is missing: apt packages, both ODBC drivers, the SQL linter (the latter below .local/).
	@.ci/setup.sh

# Nothing but what it shows: the library, the C programs, PostgreSQL and its driver. Other languages take part when they are
# built. A database of your own is used as it is, with your own ODBC settings if you have any; else the demo gets a
# throw-away cluster.
demo: ## Runs the demo on a throw-away PostgreSQL, or on the database that READPAST_CONNECTION names.
	@.ci/setup.sh core $(if $(findstring SQL Server,$(READPAST_CONNECTION)),drivers)
	@.ci/stage.sh --quick
	@$(MAKE) --no-print-directory -C bindings/c demo READPAST_PREFIX=../../.local/quick
	@if [ -n "$$READPAST_CONNECTION" ]; then \
	    export ODBCSYSINI="$${ODBCSYSINI:-$(CURDIR)/.local/odbc}"; \
	    bindings/c/demo.sh; \
	else \
	    .ci/with_cluster.sh bindings/c/demo.sh; \
	fi

postgres: ## Starts a throw-away PostgreSQL to try things on; its connection string is in .local/postgres/connection.
	@.ci/setup.sh core
	@.ci/postgres.sh start

postgres-stop: ## Stops and deletes it.
	@.ci/postgres.sh stop

# The library first: all of them link it, or pack it.
workers: setup ## Builds the library and the workers of all languages; later demos then include them.
	@.ci/stage.sh
	@for language in $(languages); do \
	    if [ $$language = csharp ]; then .ci/has_dotnet.sh || continue; fi; \
	    $(MAKE) --no-print-directory -C bindings/$$language build || exit 1; \
	done

test: setup ## Runs every check, on PostgreSQL and, when READPAST_TEST_SQLSERVER is set, on that SQL Server.
	@.ci/test.sh

test-core: ## Rust, C and both drivers: the part of `make test` to run after work on the core.
	@.ci/setup.sh drivers c
	@.ci/test.sh core

test-windows: ## Library, command and the languages but Rust on Windows, in Wine, on a throw-away PostgreSQL.
	@.ci/setup.sh windows go
	@.ci/test.sh windows

test-browser: ## The pages of `readpast serve` in a real browser; screenshots stay in target/browser.
	@.ci/setup.sh browser
	@.ci/test.sh browser

test-callers: ## The procedures in the transactions of other drivers: psycopg, pgx, JDBC, pg; on SQL Server pyodbc.
	@.ci/setup.sh drivers callers
	@.ci/test.sh callers

# For who works on one binding. Its adapter's build may need what C's does: nothing else is set up.
$(languages:%=test-%): test-%: ## A binding's own part of `make test`.
	@.ci/setup.sh $*
	@.ci/test.sh $*

test-fresh: ## Bare machines (Debian 12 and 13): the demo twice, the second time without network, and README's quick start.
	@.ci/setup.sh fresh
	@.ci/fresh.sh

test-deep: ## What takes long: the newest Rust, miri and the address sanitizer on the C functions, cargo-deny.
	@.ci/setup.sh core
	@.ci/deep.sh

bench: export READPAST_PROFILE := dist
bench: setup workers ## Measures on a throw-away PostgreSQL that syncs to disk, and writes docs/performance.md.
	@benches/peers/setup.sh
	.ci/with_cluster.sh cargo bench
	cargo run --quiet --example performance

manual: ## Builds the pages into a site with contents and a search, target/manual/site.
	@.ci/setup.sh manual
	@.ci/manual.sh

lint: ## Runs the checks that need no database server.
	@.ci/setup.sh lint
	@.ci/test.sh lint

# On whatever SQL Server or Azure SQL somebody has: the login needs the right to make a database, and VIEW SERVER STATE for all
# that the report can tell.
verify-sqlserver: ## Runs the checks that need a real server on READPAST_TEST_SQLSERVER; writes target/verify-sqlserver.md.
	@.ci/setup.sh drivers
	@ODBCSYSINI="$${ODBCSYSINI:-$(CURDIR)/.local/odbc}" cargo run --release --example verify_sqlserver

semver: setup ## Compares the API of the crate with the last release; builds the tool for it first, once, in ten minutes.
	@bindings/rust/check_semver.sh

package: ## Makes and tries the files of a release, for Linux and Windows, in target/package.
	@.ci/setup.sh windows c csharp python
	@.ci/with_cluster.sh .ci/package/all.sh

release: ## All that `make package` makes, and wheels for PyPI, the package for Fedora and the crates; lists what it cannot make.
	@.ci/setup.sh windows c csharp python release
	@.ci/with_cluster.sh .ci/package/all.sh --release

install: ## Installs the command readpast into ~/.cargo/bin.
	@.ci/setup.sh build
	@cargo install --locked --path command
	@PATH='$(users_path)' command -v readpast >/dev/null || \
	    echo 'Your shell does not look there yet: export PATH="$$HOME/.cargo/bin:$$PATH"'

install-library: ## Installs library, header, readpast.pc and CMake package into PREFIX, by default /usr/local.
	@.ci/setup.sh build
	@.ci/stage.sh '$(or $(PREFIX),/usr/local)'

clean: ## Removes everything that was built or installed below this directory; apt packages stay.
	cargo clean
	for language in $(languages); do $(MAKE) -C bindings/$$language clean || exit 1; done
	rm -rf .local
