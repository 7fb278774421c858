"""The parts of `make release` that need no build: versions, the bill of materials, the image's configuration, the commit."""
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import os
import re
import signal
import subprocess
import tarfile

import pytest

from lib import wait

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = re.search(r"^VERSION := (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M).group(1)


@pytest.fixture(scope="module")
def sbom():
    loader = importlib.machinery.SourceFileLoader("sbom", str(ROOT / "scripts/sbom"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def cache(tmp_path):
    (tmp_path / "libllhttp-source_9.4.3+~cs1-2_all.deb").write_bytes(b"package")
    (tmp_path / "postgresql-18_18.6.orig.tar.bz2").write_bytes(b"tarball")
    return tmp_path


@pytest.mark.parametrize("name", ["packaging/container/Containerfile", "packaging/container/compose.yaml", "docs/install.md", "docs/releasing.md"])
def test_files_name_the_current_version(name):
    named = set(re.findall(r"viewtally[:_-](\d+\.\d+\.\d+)", (ROOT / name).read_text(encoding="utf-8")))
    assert named == {VERSION}


def test_bill_of_materials_lists_every_library_with_version_license_and_checksum(sbom, cache):
    made = {part["name"]: part for part in sbom.components(True, cache)}
    manifests = [row for name in ("manifest", "manifest-static") for row in sbom.manifest_rows(name) if row["how"] != "patches"]
    assert made.keys() == {row["name"] for row in manifests} - {"cmocka"}
    for part in made.values():
        assert re.fullmatch(r"[0-9][0-9.]*", part["version"]), part
        assert re.fullmatch(r"[0-9a-f]{64}", part["hashes"][0]["content"]), part
        [choice] = part["licenses"]
        assert (choice.get("expression") or choice["license"]["id"]) and part["purl"].startswith("pkg:"), part


def test_bill_of_materials_lists_the_patches_of_openssl(sbom, cache):
    [openssl] = [part for part in sbom.components(True, cache) if part["name"] == "openssl"]
    assert re.search(r"patches of openssl_\S+\.debian\.tar\.xz \(SHA-256 [0-9a-f]{64}\)", openssl["pedigree"]["notes"])


def test_bill_of_materials_has_the_real_version_of_an_unpinned_package(sbom, cache):
    [llhttp] = [part for part in sbom.components(True, cache) if part["name"] == "llhttp"]
    assert llhttp["version"] == "9.4.3" and llhttp["purl"] == "pkg:deb/debian/libllhttp-source@9.4.3%2B~cs1-2?arch=all&distro=sid"
    [libpq] = [part for part in sbom.components(True, cache) if part["name"] == "libpq"]
    assert libpq["version"] == "18.6" and libpq["purl"] == "pkg:deb/debian/postgresql-18@18.6?arch=source&distro=sid"


def write_image(path, layer, hostname):
    digest = hashlib.sha256(layer).hexdigest()
    config = {"container": hostname, "container_config": {"Hostname": hostname}, "config": {"Hostname": hostname, "User": "65532:65532"},
              "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    files = {"layer.tar": layer, "config.json": json.dumps(config).encode(),
             "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": ["a:1"], "Layers": ["layer.tar"]}]).encode()}
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def normalize(source, target):
    return subprocess.run([ROOT / "scripts/normalize-image", source, target], capture_output=True, text=True, check=False)


def test_images_that_differ_only_in_the_container_name_are_normalized_to_equal_bytes(tmp_path):
    for name in ("one", "two"):
        write_image(tmp_path / name, b"files", name)
        assert normalize(tmp_path / name, tmp_path / f"{name}.tar").returncode == 0
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        [image] = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(image["Config"]))
        assert config["config"] == {"User": "65532:65532"} and archive.extractfile(image["Layers"][0]).read() == b"files"


def test_image_with_a_wrong_layer_is_rejected(tmp_path):
    write_image(tmp_path / "image", b"files", "name")
    damaged = (tmp_path / "image").read_bytes().replace(b"files", b"filez", 1)
    (tmp_path / "image").write_bytes(damaged)
    done = normalize(tmp_path / "image", tmp_path / "out.tar")
    assert done.returncode == 1 and "are not the ones of its configuration" in done.stderr
    assert not (tmp_path / "out.tar").exists()


def test_build_from_a_source_tarball_reports_its_commit(tmp_path):
    (tmp_path / ".commit").write_text("0123456789abcdef0123456789abcdef01234567 1700000000\n", encoding="utf-8")
    versions = tmp_path / "versions"
    versions.write_text("libuv 1.50.0\n", encoding="utf-8")
    made = subprocess.run([ROOT / "scripts/gen-build-info", "1.2.3", "release", versions, versions], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert 'build_commit[] = "0123456789ab";' in made.stdout


@pytest.mark.parametrize("arguments", [("release", "1.2.3", "out"), ("release-compare", "1.2.3", "."), ("build-image", "binary", "1.2.3", "out.tar")])
def test_interrupted_script_removes_its_temporary_directory(tmp_path, arguments):
    waits = f"touch {tmp_path}/waits\nwhile :; do sleep 0.01; done\n"
    programs = {"strip": waits, "git": f"case $1 in clone | archive) {waits} ;; status) ;; *) echo 1 ;; esac\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    places = [tmp_path / "temporary", tmp_path / "work"]
    for place in places:
        place.mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(places[0]), "VENDOR_CACHE": str(tmp_path / "cache")}
    script, *rest = [word.replace("out", str(tmp_path / "out")) if word != "." else str(places[1]) for word in arguments]
    process = subprocess.Popen([ROOT / "scripts" / script, *rest], env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    wait.until((tmp_path / "waits").exists, "the script to work")
    assert any(any(place.iterdir()) for place in places)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 130 and not any(any(place.iterdir()) for place in places)


def tar_gz(directory, target):
    """Runs the function of this name in scripts/release."""
    function = re.search(r"(?ms)^tar_gz\(\) \{.*?^\}", (ROOT / "scripts/release").read_text(encoding="utf-8")).group()
    return subprocess.run(["sh", "-euc", f'{function}\ntar_gz "$0" "$1"', directory, target], env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
                          capture_output=True, text=True, check=False)


def test_archive_does_not_depend_on_the_umask_of_the_checkout(tmp_path):
    for umask, name in ((0o022, "one"), (0o077, "two"), (0o002, "three")):
        tree = tmp_path / name / "tree"
        (tree / "docs").mkdir(parents=True, mode=0o777 & ~umask)
        for file, mode in (("docs/a.md", 0o666), ("program", 0o777)):
            (tree / file).write_text("text")
            (tree / file).chmod(mode & ~umask)
        for directory in (tree, tree / "docs"):
            directory.chmod(0o777 & ~umask)
        assert tar_gz(tree, tmp_path / f"{name}.tar.gz").returncode == 0
    first, *others = ((tmp_path / f"{name}.tar.gz").read_bytes() for name in ("one", "two", "three"))
    assert others == [first, first]


def test_failure_of_tar_is_not_hidden_by_gzip(tmp_path):
    assert tar_gz(tmp_path / "missing", tmp_path / "out.tar.gz").returncode != 0
