# viewtally. `make run` prepares a bare Debian and serves real data, `make test` runs all tests, `make help` lists the
# other goals.

VERSION := 0.2.0

MODE ?= release
MODES := release debug asan cov fuzz
ifeq ($(filter $(MODE),$(MODES)),)
$(error MODE=$(MODE) is not one of: $(MODES))
endif

B := build/$(MODE)
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
INSTALLING_GOALS := deps docs run check test test-long test-day lint tidy mutants fuzz soak bench%
BOOTSTRAP ?= $(if $(filter 1,$(SYSTEM_LIBS)),0,$(if $(filter $(INSTALLING_GOALS),$(MAKECMDGOALS)),1,check))
HAVE_BUILD := build/.have-build
HAVE_GROUPS := $(patsubst %,build/.have-%,build run test fuzz bench)

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
    -fno-strict-overflow $(if $(filter x86_64 i686,$(shell uname -m)),-fcf-protection=full)
LINK_HARDENING := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed -Wl,--gc-sections
SECTIONS := -ffunction-sections -fdata-sections

# asan combines AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer. The libraries are built without the last
# one, which doubles the compile time of SQLite and would only check code that is not ours.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SANITIZE_VENDOR := -fsanitize=address -fno-omit-frame-pointer

MODE_CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDENING) $(SECTIONS)
MODE_CFLAGS_debug := -O1 -g3 -fno-omit-frame-pointer $(HARDENING)
MODE_CFLAGS_asan := -O1 -g -fPIE $(SANITIZE)
MODE_CFLAGS_cov := -O0 -g -fPIE --coverage
MODE_CFLAGS_fuzz := -O1 -g -fPIE $(SANITIZE) -fsanitize=fuzzer-no-link
MODE_LDFLAGS_release := $(LINK_HARDENING)
MODE_LDFLAGS_debug := $(LINK_HARDENING)
MODE_LDFLAGS_asan := -pie $(SANITIZE)
MODE_LDFLAGS_cov := -pie --coverage
MODE_LDFLAGS_fuzz := -pie $(SANITIZE)

# Test seams (fake clock, fault countdowns) exist in every build except release.
SEAMS := $(if $(filter-out release,$(MODE)),-DVT_TEST_SEAMS=1)

CFLAGS ?=
LDFLAGS ?=
ALL_CPPFLAGS = -D_GNU_SOURCE $(SEAMS) -Isrc -I$(B)/gen $(LIB_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu17 $(WARNINGS) $(MODE_CFLAGS_$(MODE)) $(CFLAGS)
ALL_LDFLAGS = $(MODE_LDFLAGS_$(MODE)) $(LDFLAGS)

# --- libraries -------------------------------------------------------------------------------------------
# Static archives built from the pinned sources of vendor/manifest, or with SYSTEM_LIBS=1 the libraries of pkg-config.

LIB_NAMES := sqlite curl nghttp2 hiredis uv llhttp yyjson inih xxhash
VENDOR_VERSIONS = $(V)/versions

ifeq ($(origin VENDOR_DIR),undefined)
VENDOR_DIR := build/vendor
VENDOR_CACHE ?= vendor/cache
endif
VENDOR_CACHE ?= $(VENDOR_DIR)/cache

# Builds that need no instrumented libraries share those of release.
VENDOR_MODE_asan := asan$(if $(CLANG),-clang)
VENDOR_MODE_fuzz := fuzz
VENDOR_MODE := $(or $(VENDOR_MODE_$(MODE)),release)
# The name contains a hash of the inputs, so that checkouts of different commits can share VENDOR_DIR.
VENDOR_KEY := $(shell cat vendor/manifest vendor/build | sha256sum | cut -c 1-8)
V := $(VENDOR_DIR)/$(VENDOR_MODE)-$(VENDOR_KEY)
VENDOR_CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDENING) $(SECTIONS)
VENDOR_CFLAGS_asan := -O1 -g -fPIE $(SANITIZE_VENDOR)
VENDOR_CFLAGS_asan-clang := $(VENDOR_CFLAGS_asan)
VENDOR_CFLAGS_fuzz := $(VENDOR_CFLAGS_asan) -fsanitize=fuzzer-no-link

ifeq ($(SYSTEM_LIBS),1)
# The lowest versions that work correctly; vendor/manifest has the reasons.
PKGS := libuv libllhttp hiredis hiredis_ssl openssl libcurl sqlite3 yyjson inih libxxhash libsodium
PKG_MINIMUM := libuv >= 1.50 libllhttp >= 9.4.2 hiredis >= 1.2 libcurl >= 8.6 sqlite3 >= 3.51.3
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
CRYPTO_NEEDS = $(filter -lzstd,$(shell sed -n 's/^Libs.private://p' /usr/lib/*/pkgconfig/libcrypto.pc 2>/dev/null))
LIBS = $(LIB_NAMES:%=$(V)/lib/lib%.a) -l:libsodium.a -l:libssl.a -l:libcrypto.a -l:libz.a $(CRYPTO_NEEDS:-l%=-l:lib%.a) -lpthread -lm
CMOCKA = $(V)/lib/libcmocka.a
VENDOR_STAMP := $(V)/stamp
endif

.PHONY: vendor FORCE
vendor: $(V)/stamp

# Always run; the stamp's time changes only if something was rebuilt.
$(V)/stamp: FORCE | $(HAVE_BUILD)
	@CC='$(CC)' AR='$(AR)' VENDOR_CFLAGS='$(VENDOR_CFLAGS_$(VENDOR_MODE))' vendor/build $(VENDOR_CACHE) $(V)

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
	@scripts/gen-build-info $(VERSION) $(MODE) $(if $(VENDOR_STAMP),$(VENDOR_VERSIONS),-) >$@.new
	$(call keep,$@)

$(B)/gen/schema.c: scripts/gen-embed $(wildcard schema/*.sql) schema
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed schema $(sort $(filter %.sql,$^)) >$@.new && mv $@.new $@

$(B)/gen/style.c: scripts/gen-embed src/web/style.css
	@mkdir -p $(@D)
	$(Q)scripts/gen-embed text style_css src/web/style.css >$@.new && mv $@.new $@

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
	$(if $(filter release0,$(MODE)$(SYSTEM_LIBS)),$(Q)scripts/check-binary $@)

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

.PHONY: run
## make run               creates ./data with real readings once and serves it on 127.0.0.1:8080
run: $(BIN) build/.have-run
	@scripts/run $(BIN)

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
# Records every access to a response, see the head of the file.
$(B)/test/test_platform_facts: ALL_LDFLAGS += $(foreach f,parse get next iterate text id integer count,-Wl,--wrap=jsonr_$(f))

$(B)/test/%: $(B)/obj/test/unit/%.o $(UNIT_LIB) $(ARCHIVE)
	@mkdir -p $(@D)
	@echo "  LD $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(CMOCKA) $(LIBS)

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
test: build/.have-test
	@$(MAKE) --no-print-directory test-builds
	@$(if $(CACHE),CACHE=$(CACHE) )$(if $(STRICT),STRICT=$(STRICT) )scripts/run-tests $(if $(TESTS),--python $(TESTS))

test-builds: $(TEST_BUILDS)
$(TEST_BUILDS): test-build-%:
	@$(MAKE) --no-print-directory MODE=$* WERROR=$(or $(WERROR),1) all $(if $(filter-out release,$*),unit-programs) $(if $(filter debug,$*),reference)

## make vendor-facts      compares test/vendors with Google's and Meta's published descriptions (needs the network)
.PHONY: vendor-facts
vendor-facts:
	@scripts/vendor-facts

## make check             under a minute, before each commit: lint, the unit tests of the debug build, the contract
.PHONY: check
check: build/.have-test
	@$(MAKE) --no-print-directory test-build-release test-build-debug
	@scripts/run-tests --quick

## make test-long         what does not fit into `make test`: 1,000 worlds, 1,000 kills, no response cache (by hand, an hour)
.PHONY: test-long
test-long: build/.have-test
	@$(MAKE) --no-print-directory test-builds
	@scripts/run-tests --long

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
tidy: build/.have-test compile_commands.json
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

.PHONY: bench-platforms
## make bench-platforms   duration and memory of reading 50,000 posts from stand-ins of the platforms
bench-platforms: $(BIN) build/.have-test
	@/usr/bin/python3 test/platforms/bench_platforms.py $(BENCH)

.PHONY: test-day
## make test-day          24 hourly refreshes of 2,000 authors and 50,000 posts from failing stand-ins (DAY="--authors …")
test-day: build/.have-test
	@$(MAKE) --no-print-directory MODE=debug all
	@/usr/bin/python3 test/platforms/day.py $(DAY)

.PHONY: soak
## make soak              30 minutes (SOAK_MINUTES) of mixed traffic on two processes behind nginx; memory must stay flat
soak: $(BIN) build/.have-test
	@/usr/bin/python3 test/load/soak.py

# --- installing and cleaning ------------------------------------------------------------------------------------------------

PREFIX ?= /usr/local
.PHONY: install
## make install           installs the release binary and the man pages below DESTDIR and PREFIX (/usr/local)
install: $(BIN)
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/viewtally
	install -D -m 644 docs/man/viewtally.1 $(DESTDIR)$(PREFIX)/share/man/man1/viewtally.1
	install -D -m 644 docs/man/viewtally.ini.5 $(DESTDIR)$(PREFIX)/share/man/man5/viewtally.ini.5

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
