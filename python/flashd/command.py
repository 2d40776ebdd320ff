"""Studies of the command line as tables."""

import json
import signal
import subprocess
import sys
import threading


def command(*arguments, **flags):
    """Runs a command of the program and returns its JSON: `command("simulate", q="q.npy", causal=True)` is `flashd simulate --q q.npy --causal --json`.

    A flag that is a list is given once for each of its elements. Progress goes to standard error as it comes; Ctrl-C ends the command.

    Raises ValueError with the program's text for input that cannot be used, RuntimeError for a check that failed.
    """
    words = [sys.executable, "-m", "flashd", *map(str, arguments)]
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words += [flag, str(one)]
    with subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        said = []

        def listen():
            for line in program.stderr:
                # The error is the exception's: a line of JSON, the last one.
                if line.startswith('{"error":'):
                    said.append(json.loads(line)["error"])
                else:
                    print(line, end="", file=sys.stderr, flush=True)

        listener = threading.Thread(target=listen)
        try:
            # In here: an interrupt from now on must reach the program, or the listener would wait for its end.
            listener.start()
            output = program.stdout.read()
        except KeyboardInterrupt:
            # In a notebook the signal is Python's alone.
            program.send_signal(signal.SIGINT)
            raise
        finally:
            program.wait()
            if listener.is_alive():
                listener.join()
    if program.returncode == 0:
        return json.loads(output)
    text = said[-1] if said else f"exit code {program.returncode}"
    raise (ValueError if program.returncode == 2 else RuntimeError)(text)


def _flat(value, prefix=""):
    """A nested dictionary as one of dotted names; lists stay as they are."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {
        name: leaf
        for key, inner in value.items()
        for name, leaf in _flat(inner, f"{prefix}.{key}" if prefix else key).items()
    }


def _frame(rows):
    """A data frame if pandas is there, else a list of dictionaries."""
    rows = [_flat(row) for row in rows]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def accuracy(*data, **flags):
    """Errors of cores on heads, as `flashd accuracy`: a row for each format, group of heads and core.

    `data` are folders of heads (default: the bundled sample); flags are the command's: `core=["--design flash-d", "--design fa2"]`, `by="all"`.
    """
    report = command("accuracy", data=list(data), no_lengths=True, **flags)
    rows = []
    for of_format in report["traces"]["formats"]:
        for row in of_format["rows"]:
            shared = {name: value for name, value in row.items() if name != "cores"}
            rows += [{"format": of_format["format"], **shared, **core} for core in row["cores"]]
    return _frame(rows)


def explore(**flags):
    """Errors and costs over a grid of configurations, as `flashd explore`: a row for each configuration.

    With `errors_only=True` it needs no other tools; areas and power take Yosys and OpenSTA.
    """
    report = command("explore", **flags)
    return _frame({"format": of_format["format"], **point} for of_format in report["formats"] for point in of_format["points"])
