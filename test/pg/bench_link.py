"""Measures the time per query of the PostgreSQL link, in the driver and in PostgreSQL, for batches of 1, 16 and 64
queries.

Usage: VIEWTALLY_SEAMS_BIN=build/debug/viewtally /usr/bin/python3 test/pg/bench_link.py (after make MODE=debug pg-driver). Prints the
best of five rounds in microseconds: elapsed time, processor time of the driver, processor time of PostgreSQL. The
driver is a debug build, but libpq is optimized.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from lib.pgdriver import TABLES, Driver     # noqa: E402
from lib.postgres import Postgres           # noqa: E402

AUTHORS = 10_000
ROUNDS = 5
# statement, its parameter, queries per batch, batches
RUNS = [("one", 1, 1, 4000), ("one", 1, 16, 1500), ("one", 1, 64, 600), ("heads", 64, 1, 2000), ("heads", 64, 16, 200), ("heads", 64, 64, 60)]


def server_us(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1000


def measure(driver, pid, run):
    before = server_us(pid)
    driver.send(f"bench {' '.join(map(str, run))}")
    counted = dict(word.split("=") for word in driver.line().split()[1:])
    queries = int(counted["queries"])
    return int(counted["wall_us"]) / queries, int(counted["cpu_us"]) / queries, (server_us(pid) - before) / queries


def main():
    with Postgres(schema=TABLES) as cluster:
        database = cluster.database()
        cluster.sql(f"INSERT INTO heads (author_id) SELECT generate_series(1, {AUTHORS}); ANALYZE heads", database)
        with Driver(cluster.url(database)) as driver:
            driver.until_state("up")
            pid = cluster.sql(f"SELECT pid FROM pg_stat_activity WHERE application_name = 'viewtally' AND datname = '{database}'", database)[0][0]
            for run in RUNS:
                rounds = [measure(driver, pid, run) for _ in range(ROUNDS)]
                best = [min(values) for values in zip(*rounds)]
                print(f"{run[0]:6} {run[2]:3} per batch: elapsed {best[0]:6.1f}  driver {best[1]:5.2f}  server {best[2]:5.2f} us per query")


if __name__ == "__main__":
    main()
