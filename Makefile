# viewtally. `make run` prepares a bare Debian and serves real data, `make test` runs all tests, `make help` lists the
# other goals.

VERSION := 0.2.0

MODE ?= release
MODES := release debug asan cov fuzz
ifeq ($(filter $(MODE),$(MODES)),)
$(error MODE=$(MODE) is not one of: $(MODES))
endif

# STATIC=1 links everything statically, with musl as libc; the program then runs on any Linux of the same processor.
STATIC ?= 0
ifneq ($(filter 1,$(STATIC)),)
ifeq ($(filter release debug,$(MODE)),)
$(error STATIC=1 needs MODE=release or MODE=debug)
endif
endif

B := build/$(if $(filter 1,$(STATIC)),$(patsubst %-release,%,static-$(MODE)),$(MODE))
BIN := $(B)/viewtally

.PHONY: all
## make                   builds build/release/viewtally (MODE=release|debug|asan|cov|fuzz)
all: $(BIN)

# --- what a bare machine lacks ---------------------------------------------------------------------------
# Building and installing only check for missing packages and name them. The goals below need more than a compiler
# (`make run` and `make test` are meant for a bare machine), so they install what is missing and print it.
# BOOTSTRAP=1 always installs, BOOTSTRAP=0 never checks; SYSTEM_LIBS=1 implies 0, because packagers declare their
# build dependencies themselves.

SYSTEM_LIBS ?= 0
REPRODUCIBLE ?= 0
INSTALLING_GOALS := deps deb test-deb docs run check test test-long test-day test-release test-image test-systemd test-upgrade lint tidy compile-clang mutants fuzz soak bench%
BOOTSTRAP ?= $(if $(filter 1,$(SYSTEM_LIBS)),0,$(if $(filter $(INSTALLING_GOALS),$(MAKECMDGOALS)),1,check))
HAVE_BUILD := build/.have-build $(if $(filter 1,$(STATIC)),build/.have-static)
HAVE_GROUPS := $(patsubst %,build/.have-%,build run test tidy fuzz bench deb test-deb static image test-image release systemd)

$(HAVE_GROUPS): build/.have-%: scripts/bootstrap
	@mkdir -p $(@D)
	$(if $(filter-out 0,$(BOOTSTRAP)),@scripts/bootstrap $(if $(filter 1,$(BOOTSTRAP)),,--check )$*)
	@touch $@

.PHONY: deps
## make deps              installs the Debian packages that the build needs (as root or with sudo)
deps:
	@scripts/bootstrap build

# Uses all processors unless the caller passes -j.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

# --- compiler and flags ----------------------------------------------------------------------------------

ifeq ($(origin CC),default)
CC := $(if $(filter fuzz,$(MODE)),clang,gcc)
endif
AR ?= ar
CLANG := $(findstring clang,$(notdir $(firstword $(CC))))

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes \
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 \
    -Wimplicit-fallthrough -Wunused-result -Wdate-time
# Not part of $(B)/gen/flags, so a change does not rebuild the objects.
FATAL := $(if $(filter 1,$(WERROR)),-Werror)

HARDENING := -fstack-protector-strong -fstack-clash-protection -fPIE -fno-common -fno-delete-null-pointer-checks \
    -fno-strict-overflow $(if $(filter x86_64% i686%,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)),-fcf-protection=full)
LINK_HARDENING := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed -Wl,--gc-sections
SECTIONS := -ffunction-sections -fdata-sections

# asan combines AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer. The libraries are built without the last
# of these, which doubles the compile time of SQLite and would only check code that is not ours.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANITIZE_VENDOR := -fsanitize=address -fno-omit-frame-pointer

MODE_CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDENING) $(SECTIONS)
MODE_CFLAGS_debug := -O1 -g -fno-omit-frame-pointer $(HARDENING)
MODE_CFLAGS_asan := -O1 -g -fPIE $(SANITIZE)
MODE_CFLAGS_cov := -O0 -g -fPIE --coverage
MODE_CFLAGS_fuzz := -O1 -g -fPIE $(SANITIZE) -fsanitize=fuzzer-no-link
MODE_LDFLAGS_release := $(LINK_HARDENING)
MODE_LDFLAGS_debug := $(LINK_HARDENING)
# Without -pie, because relocating the descriptions of all global variables takes a quarter of the time of a command.
MODE_LDFLAGS_asan := -no-pie $(SANITIZE)
MODE_LDFLAGS_cov := -pie --coverage
MODE_LDFLAGS_fuzz := -pie $(SANITIZE)

# Test seams (fake clock, fault countdowns) exist in every build except release.
SEAMS := $(if $(filter-out release,$(MODE)),-DVT_TEST_SEAMS=1)

CFLAGS ?=
LDFLAGS ?=
ALL_CPPFLAGS = -D_GNU_SOURCE $(SEAMS) $(if $(M),-DVT_STATIC=1) -Isrc -I$(B)/gen $(LIB_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu17 $(WARNINGS) $(MODE_CFLAGS_$(MODE)) $(MAP_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(MODE_LDFLAGS_$(MODE)) $(STATIC_LDFLAGS) $(LDFLAGS)

# --- libraries -------------------------------------------------------------------------------------------
# Static archives built from the pinned sources of vendor/manifest, or with SYSTEM_LIBS=1 the libraries of pkg-config.

LIB_NAMES := sqlite curl nghttp2 hiredis pq uv llhttp yyjson inih xxhash utf8proc
VENDOR_VERSIONS = $(V)/versions

# An empty value means the default. The default is not exported, because its relative path is correct only in this directory.
ifeq ($(strip $(VENDOR_DIR)),)
override VENDOR_DIR := build/vendor
unexport VENDOR_DIR
DEFAULT_CACHE := vendor/cache
else
DEFAULT_CACHE := $(VENDOR_DIR)/cache
endif
ifneq ($(SYSTEM_LIBS),1)
ifneq ($(words $(abspath $(VENDOR_DIR))),1)
$(error The libraries cannot be built in "$(abspath $(VENDOR_DIR))", whose path contains a space: move this directory or set VENDOR_DIR)
endif
endif
ifeq ($(strip $(VENDOR_CACHE)),)
override VENDOR_CACHE := $(DEFAULT_CACHE)
unexport VENDOR_CACHE
endif

# Builds that need no instrumented libraries share those of release.
VENDOR_MODE_asan := asan$(if $(CLANG),-clang)
VENDOR_MODE_fuzz := fuzz
VENDOR_MODE := $(or $(VENDOR_MODE_$(MODE)),release)
# The names contain a hash of the inputs, so that checkouts of different commits can share VENDOR_DIR.
VENDOR_KEY := $(shell cat vendor/manifest vendor/build | sha256sum | cut -c 1-8)
V := $(VENDOR_DIR)/$(if $(filter 1,$(STATIC)),static,$(VENDOR_MODE))-$(VENDOR_KEY)$(if $(filter 1,$(REPRODUCIBLE)),-r)
VENDOR_CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDENING) $(SECTIONS)
VENDOR_CFLAGS_asan := -O1 -g -fPIE $(SANITIZE_VENDOR)
VENDOR_CFLAGS_asan-clang := $(VENDOR_CFLAGS_asan)
VENDOR_CFLAGS_fuzz := $(VENDOR_CFLAGS_asan) -fsanitize=fuzzer-no-link

ifeq ($(STATIC),1)
# M is the directory of musl, OpenSSL, zlib, libsodium, and the compiler that uses them.
M := $(abspath $(VENDOR_DIR))/musl-$(shell cat vendor/manifest-static vendor/build-static | sha256sum | cut -c 1-8)
V := $(V)-$(patsubst musl-%,%,$(notdir $(M)))
BASE_CC := $(CC)
override CC := $(M)/bin/musl-cc
# musl gives a thread 128 KiB of stack unless the header of the program names another size. The resolver thread of curl
# uses this default.
STATIC_LDFLAGS := -Wl,-z,stack-size=1048576
endif
# REPRODUCIBLE=1: neither the binary nor its debugging symbols contain names of directories of this machine.
ifneq ($(filter 1,$(REPRODUCIBLE) $(STATIC)),)
MAP_CFLAGS := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(abspath $(V))/src=vendor -ffile-prefix-map=$(abspath $(V))/include=vendor
endif

ifeq ($(SYSTEM_LIBS),1)
# The lowest versions that work correctly; vendor/manifest has the reasons.
PKGS := libuv libllhttp hiredis hiredis_ssl libpq openssl libcurl sqlite3 yyjson inih libxxhash libutf8proc libsodium zlib
PKG_MINIMUM := libuv >= 1.50 libllhttp >= 9.4.2 hiredis >= 1.2 libpq >= 17 libcurl >= 8.6 sqlite3 >= 3.51.3
ifneq ($(shell pkg-config --print-errors --exists '$(PKG_MINIMUM)' >&2 && echo yes),yes)
$(error SYSTEM_LIBS=1 needs $(PKG_MINIMUM))
endif
LIB_CPPFLAGS := $(shell pkg-config --cflags $(PKGS))
LIBS := $(shell pkg-config --libs $(PKGS)) -lpthread -lm
CMOCKA = $(shell pkg-config --libs cmocka)
VENDOR_STAMP :=
else
LIB_CPPFLAGS = -isystem $(V)/include
# The dependencies of a static libcrypto besides zlib: none on Debian 12, zstd on Debian 13.
CRYPTO_NEEDS = $(if $(M),,$(filter -lzstd,$(shell sed -n 's/^Libs.private://p' /usr/lib/*/pkgconfig/libcrypto.pc 2>/dev/null)))
LIBS = $(LIB_NAMES:%=$(V)/lib/lib%.a) -l:libsodium.a -l:libssl.a -l:libcrypto.a -l:libz.a $(CRYPTO_NEEDS:-l%=-l:lib%.a) -lpthread -lm
CMOCKA = $(V)/lib/libcmocka.a
VENDOR_STAMP := $(V)/stamp
endif

.PHONY: vendor FORCE
vendor: $(V)/stamp

# Always run; the stamp's time changes only if something was rebuilt.
$(V)/stamp: FORCE | $(HAVE_BUILD)
	$(if $(M),@CC='$(BASE_CC)' AR='$(AR)' VENDOR_CFLAGS='$(VENDOR_CFLAGS_release)' vendor/build-static $(VENDOR_CACHE) $(M))
	@CC='$(CC)' AR='$(AR)' VENDOR_CFLAGS='$(VENDOR_CFLAGS_$(VENDOR_MODE))$(if $(MAP_CFLAGS), $(MAP_CFLAGS))' vendor/build $(VENDOR_CACHE) $(V)

# --- generated sources -----------------------------------------------------------------------------------

# $(call keep,FILE): replaces FILE by FILE.new only if they differ, so that unchanged files trigger no rebuild.
keep = @cmp -s $1.new $1 && rm $1.new || mv $1.new $1

GEN := $(B)/gen/build_info.c
GEN += $(B)/gen/schema.c $(B)/gen/openapi.c $(B)/gen/style.c $(B)/gen/copy.c $(B)/gen/notices.c

$(B)/gen/flags: FORCE | $(HAVE_BUILD)
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS)' >$@.new
	$(call keep,$@)

$(B)/gen/build_info.c: FORCE | $(VENDOR_STAMP) $(HAVE_BUILD)
	@mkdir -p $(@D)
	@scripts/gen-build-info $(VERSION) $(MODE) $(if $(VENDOR_STAMP),$(VENDOR_VERSIONS),-) $(M:%=%/versions) >$@.new
	$(call keep,$@)

# `make test-upgrade` builds a program with one more migration.
SCHEMA := schema
$(B)/gen/schema.c: scripts/gen-embed $(wildcard $(SCHEMA)/*.sql) $(SCHEMA)
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed schema $(sort $(filter %.sql,$^)) >$@.new && mv $@.new $@

GEN += $(B)/gen/pg_schema.c
$(B)/gen/pg_schema.c: scripts/gen-embed $(wildcard $(SCHEMA)/pg/*.sql) $(wildcard $(SCHEMA)/pg)
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed pg-schema $(sort $(filter %.sql,$^)) >$@.new && mv $@.new $@

$(B)/gen/style.c: scripts/gen-embed src/web/style.css
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text style_css src/web/style.css >$@.new && mv $@.new $@

GUIDES := $(patsubst src/reference/guides/%.md,%,$(wildcard src/reference/guides/*.md))
GEN += $(GUIDES:%=$(B)/gen/guide_%.c) $(B)/gen/docs_css.c $(B)/gen/docs_js.c
$(B)/gen/guide_%.c: src/reference/guides/%.md scripts/gen-embed
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text guide_$* $< >$@.new && mv $@.new $@
$(B)/gen/docs_css.c: src/reference/docs.css scripts/gen-embed
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text docs_css $< >$@.new && mv $@.new $@
$(B)/gen/docs_js.c: src/reference/search.js scripts/gen-embed
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text docs_js $< >$@.new && mv $@.new $@

$(B)/gen/copy.c: scripts/gen-embed src/web/copy.js
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text copy_js src/web/copy.js >$@.new && mv $@.new $@

$(B)/gen/openapi.c: scripts/gen-embed src/api/openapi.json
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text openapi_json src/api/openapi.json >$@.new && mv $@.new $@

$(B)/gen/notices.c: scripts/gen-embed THIRD-PARTY-NOTICES
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text third_party_notices THIRD-PARTY-NOTICES >$@.new && mv $@.new $@

# --- the program -----------------------------------------------------------------------------------------

SRC := $(shell find src -name '*.c' ! -path src/main.c | LC_ALL=C sort)
OBJ := $(SRC:%.c=$(B)/obj/%.o) $(GEN:$(B)/gen/%.c=$(B)/obj/gen/%.o)
MAIN := $(B)/obj/src/main.o
ARCHIVE := $(B)/libviewtally.a

# One short line per file; VERBOSE=1 shows the commands.
Q := $(if $(filter 1,$(VERBOSE)),,@)
COMPILE = $(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(FATAL) -MMD -MP -c -o $@ $<

$(B)/obj/src/%.o: src/%.c $(B)/gen/flags $(VENDOR_STAMP)
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(COMPILE)

# copy_bytes.c implements memcpy() in the static binary, so the compiler must not turn loops of it into calls of memcpy().
$(B)/obj/src/base/copy_bytes.o: ALL_CFLAGS += $(if $(findstring clang,$(CC)),-fno-builtin,-fno-tree-loop-distribute-patterns)

$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/gen/flags $(VENDOR_STAMP)
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(COMPILE) -Wno-overlength-strings

# Changes if a source is added or removed, so that the archive never contains an object without a source.
$(B)/gen/objects: FORCE | $(HAVE_BUILD)
	@mkdir -p $(@D)
	@echo '$(OBJ)' >$@.new
	$(call keep,$@)

$(ARCHIVE): $(OBJ) $(B)/gen/objects
	@rm -f $@
	@echo "  AR $@"
	$(Q)$(AR) rcsD $@ $(OBJ)

$(BIN): $(MAIN) $(ARCHIVE)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
	$(if $(filter release0,$(MODE)$(SYSTEM_LIBS)),$(Q)scripts/check-binary $(if $(M),--static) $@)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# --- documentation ---------------------------------------------------------------------------------------
# docs/cli.md, docs/configuration.md, docs/metrics.md, config.example.ini and the man pages come from tables of the
# program. They are committed; test/build/test_docs.py compares them.

REFERENCE := $(B)/reference
$(REFERENCE): $(B)/obj/tools/reference.o $(ARCHIVE)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(B)/obj/tools/%.o: tools/%.c $(B)/gen/flags $(VENDOR_STAMP)
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(COMPILE)

.PHONY: docs reference
reference: $(REFERENCE)
## make docs              regenerates the generated documents
docs: build/.have-test
	@$(MAKE) --no-print-directory MODE=debug all reference
	@scripts/gen-docs

.PHONY: run run-ports
## make run               creates ./data with real readings once and serves it on 127.0.0.1:8080
run: run-ports
	@$(MAKE) --no-print-directory BOOTSTRAP=$(BOOTSTRAP) $(BIN) build/.have-run
	@scripts/run $(BIN)

# Ends before a parallel make starts anything else, so that a busy port is reported before anything is built, installed or created.
run-ports:
	@scripts/run --check-ports

# --- unit tests ------------------------------------------------------------------------------------------
# Each test/unit/test_*.c is one cmocka program, linked with test/unit/lib/*.c.

UNIT_SRC := $(wildcard test/unit/test_*.c)
UNIT_LIB := $(patsubst %.c,$(B)/obj/%.o,$(wildcard test/unit/lib/*.c))
UNIT_BIN := $(UNIT_SRC:test/unit/%.c=$(B)/test/%)

$(B)/obj/test/%.o: test/%.c $(B)/gen/flags $(VENDOR_STAMP)
	@mkdir -p $(@D)
	@echo "  CC $<"
	$(COMPILE) -Itest/unit -Wno-missing-prototypes -Wno-conversion

$(B)/test/test_longpoll: ALL_LDFLAGS += -Wl,--wrap=request_sleep -Wl,--wrap=request_wake
$(B)/test/test_database_states: ALL_LDFLAGS += \
	$(foreach f,writer_submit platform_health_read store_count_webhook_states store_read_server_load,-Wl,--wrap=$f)
$(B)/test/test_doctor: ALL_LDFLAGS += -Wl,--wrap=store_read_server_load
$(B)/test/test_spool: ALL_LDFLAGS += -Wl,--wrap=run_import_file
$(B)/test/test_backup $(B)/test/test_refresh: ALL_LDFLAGS += -Wl,--wrap=store_read_lease
$(B)/test/test_backup: ALL_LDFLAGS += -Wl,--wrap=fcntl
# Records every access to a response, see the head of the file.
$(B)/test/test_platform_facts: ALL_LDFLAGS += $(foreach f,parse get next iterate text id integer count,-Wl,--wrap=jsonr_$(f))

$(B)/test/%: $(B)/obj/test/unit/%.o $(UNIT_LIB) $(ARCHIVE)
	@mkdir -p $(@D)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(CMOCKA) $(LIBS)

# Programs of the tests in test/pg, see the heads of the files.
PG_DRIVERS := $(B)/pg_driver $(B)/store_driver $(B)/pg_statements
$(PG_DRIVERS): $(B)/%: $(B)/obj/test/pg/%.o $(ARCHIVE)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
.PHONY: pg-driver
pg-driver: $(PG_DRIVERS)

.PRECIOUS: $(B)/obj/test/%.o
.PHONY: unit unit-programs
unit-programs: $(UNIT_BIN)
## make unit MODE=debug   the unit tests of one mode
unit: $(UNIT_BIN)
	@for t in $(UNIT_BIN); do echo "== $$t"; $$t || exit 1; done

# --- everything ------------------------------------------------------------------------------------------
# Three builds in parallel with warnings as errors (WERROR=0 for newer compilers), then all tests.

TEST_BUILDS := test-build-release test-build-debug test-build-asan
.PHONY: test test-builds $(TEST_BUILDS)
## make test              all tests and lint; unit, flow, property and contract tests also under AddressSanitizer
## make test CACHE=0      the same with a response cache of that many bytes (0: none)
## make test STRICT=1     a skipped test fails unless test/allowed-skips.toml lists it; includes tests that take minutes
## make test STORE=pg     the Python tests of the server and its commands, on a PostgreSQL that they start
test: build/.have-test
	@$(MAKE) --no-print-directory test-builds
	@$(if $(STORE),STORE=$(STORE) )$(if $(CACHE),CACHE=$(CACHE) )$(if $(STRICT),STRICT=$(STRICT) )scripts/run-tests $(if $(TESTS),--python $(TESTS))

test-builds: $(TEST_BUILDS)
$(TEST_BUILDS): test-build-%:
	@$(MAKE) --no-print-directory MODE=$* WERROR=$(or $(WERROR),1) all $(if $(filter-out release,$*),unit-programs pg-driver) $(if $(filter debug,$*),reference)

## make vendor-facts      compares test/vendors with Google's and Meta's published descriptions (needs the network)
.PHONY: vendor-facts
vendor-facts:
	@scripts/vendor-facts

## make check             under a minute, before each commit: lint, the unit tests of the debug build, the contract
.PHONY: check
check: build/.have-test
	@$(MAKE) --no-print-directory test-build-release test-build-debug
	@scripts/run-tests --quick

## make test-long         what does not fit into `make test`: 1,000 worlds of 12 authors, 1,000 kills, no response cache (by hand, a few hours)
.PHONY: test-long
test-long: build/.have-test
	@$(MAKE) --no-print-directory test-builds
	@scripts/run-tests --long

## make test-watch        dashboard and alerts: every query in a real Prometheus, Grafana's types (needs the npm registry)
INSTALLING_GOALS += test-watch
.PHONY: test-watch
test-watch: $(BIN) build/.have-test
	@/usr/bin/python3 -m pytest -q test/watch/dashboard.py

## make test-clients      clients of six generators, linters and OAuth clients against the document and the server (npm registry)
INSTALLING_GOALS += test-clients
.PHONY: test-clients
test-clients: build/.have-test
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory MODE=debug all
	@VIEWTALLY_BIN='$(CURDIR)/build/release/viewtally' VIEWTALLY_SEAMS_BIN='$(CURDIR)/build/debug/viewtally' \
		/usr/bin/python3 -m pytest -q test/clients/clients.py

## make compile-clang     checks src with clang as a second compiler: no warnings, no output files
.PHONY: compile-clang
CLANG_SYNTAX := $(patsubst %,%.clang-syntax,src/main.c $(SRC))
compile-clang: build/.have-test
	@$(MAKE) --no-print-directory MODE=debug clang-syntax
.PHONY: clang-syntax $(CLANG_SYNTAX)
clang-syntax: $(CLANG_SYNTAX)
$(CLANG_SYNTAX): %.clang-syntax: $(VENDOR_STAMP) $(GEN)
	$(Q)clang $(ALL_CPPFLAGS) $(ALL_CFLAGS) -Wno-cast-qual -Werror -fsyntax-only $*

.PHONY: lint format tidy
## make lint              format, layers, lengths, names, phrases, scripts, banned calls; `make format` formats
lint: build/.have-test
	@scripts/lint
## make tidy              clang-tidy with the checks of .clang-tidy, a few minutes
tidy: build/.have-tidy compile_commands.json $(VENDOR_STAMP) $(GEN)
	@clang-tidy -quiet -p . $(SRC) 2>/dev/null
format:
	clang-format -i $$(find src test tools -name '*.[ch]')

# --- mutants ---------------------------------------------------------------------------------------------
# Each entry of test/mutants/*.toml breaks one rule; the tests that the entry names must fail.

MUTANTS ?=
.PHONY: mutants
## make mutants           breaks one rule after the other; a test must fail each time (MUTANTS=pattern selects some)
mutants: build/.have-test $(VENDOR_STAMP)
	@/usr/bin/python3 scripts/mutants '$(MUTANTS)'

# --- fuzzing ---------------------------------------------------------------------------------------------
# Each test/fuzz/fuzz_*.c is one libFuzzer program. It starts from test/fuzz/corpus and adds to build/fuzz/corpus.

FUZZ_SECONDS ?= 60
FUZZ_SRC := $(wildcard test/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:test/fuzz/%.c=$(B)/%)
$(B)/fuzz_%: $(B)/obj/test/fuzz/fuzz_%.o $(ARCHIVE)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(ARCHIVE) $(LIBS)

$(B)/fuzz_platforms: $(B)/obj/test/unit/lib/sample.o

.PHONY: fuzz fuzz-run
## make fuzz              runs every fuzz program for FUZZ_SECONDS (60)
fuzz: build/.have-fuzz
	@$(MAKE) --no-print-directory MODE=fuzz fuzz-run
fuzz-run: $(FUZZ_BIN)
	@for f in $(FUZZ_BIN); do \
		n=$$(basename $$f); mkdir -p $(B)/corpus/$$n; \
		echo "== $$n"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(B)/$$n- $(B)/corpus/$$n \
			$$(ls -d test/fuzz/corpus/$$n 2>/dev/null) || exit 1; \
	done

# --- benches ---------------------------------------------------------------------------------------------

.PHONY: bench
## make bench             compares with nginx serving the same bytes as files (BENCH="--quick --against OTHER-BINARY")
bench: $(BIN) build/.have-bench
	@/usr/bin/python3 test/load/bench.py $(BENCH)

.PHONY: bench-refresh
## make bench-refresh     duration of a refresh of 1,000,000 posts, and the latency of requests during it
bench-refresh: $(BIN) build/.have-bench
	@/usr/bin/python3 test/load/bench_refresh.py $(BENCH)

.PHONY: bench-webhooks
## make bench-webhooks    duration of delivering 15,000 events to 5,000 webhooks, beside an origin that never responds
bench-webhooks: $(BIN) build/.have-bench
	@/usr/bin/python3 test/load/bench_webhooks.py $(BENCH)

.PHONY: bench-pg
## make bench-pg          processor time per request and per refreshed video, on SQLite and on PostgreSQL
bench-pg: $(BIN) build/.have-bench build/.have-test
	@/usr/bin/python3 test/load/bench_pg.py $(BENCH)

.PHONY: bench-platforms
## make bench-platforms   duration and memory of reading 50,000 posts from stand-ins of the platforms
bench-platforms: $(BIN) build/.have-test
	@/usr/bin/python3 test/platforms/bench_platforms.py $(BENCH)

.PHONY: test-day
## make test-day          24 hourly refreshes of 2,000 authors and 50,000 posts from failing stand-ins (DAY="--authors …")
test-day: build/.have-test
	@$(MAKE) --no-print-directory MODE=debug all
	@/usr/bin/python3 test/platforms/day.py $(DAY)

.PHONY: test-systemd
## make test-systemd      restarts and upgrades under load in booted Debian 12 and 13 (root; SYSTEMD="--suite trixie --restarts 5")
test-systemd: $(BIN) build/.have-systemd
	@/usr/bin/python3 test/systemd/restarts.py $(SYSTEMD)

.PHONY: test-upgrade
## make test-upgrade      upgrades and downgrades with programs of several releases; builds version 0.1.0 from the git history
test-upgrade: $(BIN) build/.have-test
	@VENDOR_DIR='$(abspath $(VENDOR_DIR))' VENDOR_CACHE='$(abspath $(VENDOR_CACHE))' \
		/usr/bin/python3 -m pytest -q test/upgrade/releases.py

.PHONY: soak
## make soak              30 minutes (SOAK_MINUTES) of mixed traffic on two processes behind nginx; memory must stay flat
soak: $(BIN) build/.have-test
	@/usr/bin/python3 test/load/soak.py

# --- releases --------------------------------------------------------------------------------------------

.PHONY: static test-release
## make static            builds build/static/viewtally, one file that depends on nothing (musl; MODE=debug for the tests)
static:
	@$(MAKE) --no-print-directory STATIC=1 MODE=$(MODE) all

## make test-release      unit, flow and contract tests of the static binary (by hand, before a release)
test-release: build/.have-test build/.have-static
	@$(MAKE) --no-print-directory STATIC=1 MODE=release all
	@$(MAKE) --no-print-directory STATIC=1 MODE=debug all unit-programs
	@$(if $(STRICT),STRICT=$(STRICT) )scripts/run-tests --static

.PHONY: release release-compare
## make release           source, static binary, image, package, SBOM and checksums in build/release-VERSION (see docs/releasing.md)
release: build/.have-release
	+@scripts/release $(VERSION) build/release-$(VERSION)
## make release-compare   builds the release twice in different directories; the artifacts must be equal (by hand)
release-compare: build/.have-release
	@scripts/release-compare $(VERSION)

IMAGE := build/image/viewtally-$(VERSION)-image.tar
.PHONY: image test-image
## make image             builds the container image from the static binary (needs buildah)
image: build/.have-image
	@$(MAKE) --no-print-directory STATIC=1 MODE=release all
	@mkdir -p $(dir $(IMAGE))
	@scripts/build-image build/static/viewtally $(VERSION) $(IMAGE)

## make test-image        runs the image and compose.yaml with podman, Redis and nginx (by hand, as root, 5 minutes)
test-image: build/.have-test-image
	@$(MAKE) --no-print-directory image
	@/usr/bin/python3 test/image/containers.py $(IMAGE)

# --- installing and cleaning ------------------------------------------------------------------------------------------------

PREFIX ?= /usr/local
sysconfdir ?= /etc
unitdir ?= $(PREFIX)/lib/systemd/system
INSTALL_ENV = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' sysconfdir='$(sysconfdir)' unitdir='$(unitdir)' ZSH_FUNCTIONS='$(ZSH_FUNCTIONS)'
.PHONY: install uninstall
## make install           installs everything below DESTDIR, PREFIX (/usr/local), sysconfdir (/etc) and unitdir
install: $(BIN)
	@$(INSTALL_ENV) scripts/install $(BIN)
## make uninstall         removes what `make install` installed; keeps the configuration and the database
uninstall:
	@$(INSTALL_ENV) scripts/install --remove $(BIN)

.PHONY: deb
## make deb               the Debian package in build/deb (DEB_ARCH=arm64 cross-builds, DEB_REVISION=2)
deb: build/.have-deb
	@VENDOR_DIR='$(abspath $(VENDOR_DIR))' VENDOR_CACHE='$(abspath $(VENDOR_CACHE))' scripts/build-deb $(VERSION)

.PHONY: test-deb
## make test-deb          builds, installs, upgrades, removes and purges the package in bare systems, as root (DEB="--suite bookworm")
test-deb: build/.have-test-deb
	@VENDOR_CACHE='$(abspath $(VENDOR_CACHE))' /usr/bin/python3 test/deb/packages.py $(or $(DEB),--arm64)

## make compile_commands.json   for editors and analyzers
COMPILED := src/main.c $(SRC) $(wildcard tools/*.c) $(UNIT_SRC) $(wildcard test/unit/lib/*.c) $(FUZZ_SRC)
compile_commands.json: FORCE
	@{ echo '['; sep=; for f in $(COMPILED); do \
		printf '%s{"directory": "%s", "file": "%s", "command": "%s -Itest/unit -c %s"}' "$$sep" '$(CURDIR)' "$$f" \
			'$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)' "$$f"; \
		sep=','; done; echo ']'; } >$@

## make clean             deletes build/; the fetched sources stay in vendor/cache
.PHONY: clean
clean:
	rm -rf build compile_commands.json

.PHONY: help
help:
	@sed -n 's/^## //p' Makefile
