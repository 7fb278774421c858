"""The benches write keys directly into the database: the server must accept them, and every page must be full."""
import bench_data


def test_every_key_gets_a_full_page(make_viewtally, tmp_path):
    viewtally = make_viewtally({"events": {"history_start": "2020-01-01"}})
    viewtally.run("migrate")
    bench_data.write_lines(tmp_path / "lines", 2)
    viewtally.run("import", "--create", str(tmp_path / "lines"))
    keys = bench_data.add_keys(viewtally.settings["store"]["path"], 6)
    assert sorted(number for _, number in keys) == [0, 0, 0, 1, 1, 1]
    viewtally.start()
    with viewtally.client() as client:
        for key, number in keys:
            assert client.get("/account", key=key).json()["data"]["name"] == f"Author {number}"
            for path in ("/videos", "/events"):
                page = client.get(path, {"limit": 50}, key=key).json()
                assert len(page["data"]) == 50 and page["has_more"]
