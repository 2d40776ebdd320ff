"""Running flashd, and its data and tools."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .pages import ROOT

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")


class Problem(Exception):
    """What keeps a table from being made: exit code 2."""


class Context:
    """Where heads and cells are, and what flashd has said already."""

    def __init__(self, data, liberty):
        self.data = data and data.resolve()
        self.liberty = liberty and liberty.resolve()
        self.root = ROOT
        self._program = None
        self._said = {}
        self.commands = []
        """A table's flashd commands, as the documents write them: heads in `traces`, ASAP7's cells in `asap7.lib`."""

    def has(self, tool):
        """Whether the machine has a tool, or the file by which it is known."""
        return Path(tool).exists() if "/" in tool else shutil.which(tool) is not None

    @property
    def program(self):
        """flashd; built once if FLASHD does not name it."""
        if self._program is None:
            given = os.environ.get("FLASHD")
            if not given:
                built = subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "flashd"], cwd=ROOT)
                if built.returncode != 0:
                    raise Problem("cargo build failed; FLASHD can name a program")
                given = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "flashd"
            self._program = str(Path(given).resolve())
        return self._program

    def manifest(self, words):
        """The configuration of a core's flags, from the manifest that `generate` writes."""
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([self.program, "generate", *shlex.split(words), "--out", folder], cwd=ROOT, stdout=subprocess.DEVNULL)
            manifests = list(Path(folder).glob("*.json"))
            if ran.returncode != 0 or len(manifests) != 1:
                raise Problem(f"flashd generate {words}: exit code {ran.returncode}")
            return json.loads(manifests[0].read_text(encoding="utf-8"))

    def once(self, key, measure):
        """What `measure` returns; it runs once, however many tables ask for it."""
        if key not in self._said:
            self._said[key] = measure()
        return self._said[key]

    def _json(self, shown, command, env=None):
        """A command's JSON output; the command runs once, however many tables ask for it."""

        def run():
            print(f"$ {shown}", file=sys.stderr)
            ran = subprocess.run([*command, "--json"], cwd=ROOT, stdout=subprocess.PIPE, env=env)
            # 1 is a failed check, whose figures are compared all the same.
            if ran.returncode not in (0, 1) or not ran.stdout:
                raise Problem(f"{shown}: exit code {ran.returncode}")
            return json.loads(ran.stdout)

        return self.once(tuple(command), run)

    def xtask(self, words):
        """The JSON output of a check of `cargo xtask`."""
        command = f"cargo xtask {words}"
        self.commands.append(command)
        return self._json(command, shlex.split(command), env={**os.environ, "FLASHD": self.program})

    def flashd(self, words, heads=False, cores=()):
        """A command's JSON output. `words` are as one types them; `heads` adds --data, `cores` a --core each."""
        command = shlex.split(words)
        for core in cores:
            command += ["--core", core]
        if heads and self.data is not None:
            command += ["--data", str(self.data)]
        names = {str(self.data): "traces", str(self.liberty): "asap7.lib"}
        self.commands.append(f"flashd {shlex.join(names.get(word, word) for word in command)}".replace(f"{self.root}/", ""))
        return self._json(f"flashd {shlex.join(command)}", [self.program, *command])
