"""Clients that two published generators make of the document compile with the strict checks of TypeScript. `make test-clients` runs
all generators and calls the server."""
import pytest

from apidoc import PATH
from lib import npm

SECONDS = 120
CONFIG = """{"compilerOptions": {"strict": true, "noEmit": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler",
"skipLibCheck": true, "lib": ["es2023", "dom", "dom.iterable"], "types": []}, "files": ["use.ts"]}"""
# What a program does with the types. An event of an unknown type must not be a compile error.
USE = """
import createClient from "openapi-fetch";
import type { components, paths } from "./fetch";
import * as oazapfts from "./oazapfts";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1/v1" });

export async function firstTypes(): Promise<string[]> {
    const page = await client.GET("/events", { params: { query: { limit: 5 } } });
    const types = page.data?.data.map((event) => event.type) ?? [];
    const stats = await client.GET("/stats", { params: { query: { group_by: "book" } } });
    const breakdown: string | undefined = stats.data?.breakdown;
    const other: components["schemas"]["FeedEvent"] | undefined = page.data?.data[0];
    const again = await oazapfts.listEvents({ limit: 5 });
    return [...types, breakdown ?? "", other?.id ?? "", String(again.status)];
}
"""


@pytest.fixture(scope="module")
def directory():
    installed = npm.install("generators")
    (installed / "tsconfig.json").write_text(CONFIG, encoding="utf-8")
    (installed / "use.ts").write_text(USE, encoding="utf-8")
    return installed


def test_generated_clients_compile(directory):
    program = directory / "node_modules/.bin"
    for command in (["openapi-typescript", str(PATH), "-o", "fetch.ts"], ["oazapfts", str(PATH), "oazapfts.ts"], ["tsc", "-p", "."]):
        status, output = npm.run([str(program / command[0]), *command[1:]], directory, SECONDS)
        assert status == 0, output
