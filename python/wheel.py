#!/usr/bin/env python3
"""Packs the Python package around an extension that cargo has built, as a wheel.

    wheel.py EXTENSION FOLDER

EXTENSION is `lib_flashd.so` of the workspace's build; the wheel's path is printed. `pip install ./python` and releases go through maturin, which
compiles all crates once more; this takes what the tests were linked with, so that the package is tested wherever the crates are.
Names, versions and entry points come from pyproject.toml and Cargo.toml. Python 3.11 or later.
"""

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def metadata(project, version):
    """The core metadata of pyproject.toml, as far as it says something."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}"]
    lines += [f"Requires-Python: {project['requires-python']}", f"License: {project['license']}"]
    lines += [f"Classifier: {one}" for one in project["classifiers"]]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {one} ; extra == "{extra}"' for one in needs)]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    extension, folder = Path(sys.argv[1]), Path(sys.argv[2])
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    version = tomllib.loads((HERE.parent / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    # The extension asks for no more of Python than its oldest one has.
    oldest = project["requires-python"].removeprefix(">=").replace(".", "")
    tag = f"cp{oldest}-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    name = f"{project['name']}-{version}"
    scripts = "".join(f"{command} = {target}\n" for command, target in project["scripts"].items())
    files = {f"flashd/{path.name}": path.read_bytes() for path in sorted((HERE / "flashd").iterdir()) if path.is_file()}
    files["flashd/_flashd.abi3.so"] = extension.read_bytes()
    files[f"{name}.dist-info/METADATA"] = metadata(project, version).encode()
    files[f"{name}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: flashd\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{name}.dist-info/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    digest = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()}
    record = f"{name}.dist-info/RECORD"
    files[record] = "".join(f"{path},sha256={digest[path]},{len(data)}\n" for path, data in files.items()).encode() + f"{record},,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{tag}.whl"
    temporary = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    temporary.rename(wheel)
    print(wheel)


if __name__ == "__main__":
    main()
