"""Measures the Python standard library: files, lines, functions and classes, and a digest over all of them.

Its whole state is a few numbers that are saved after every group of files, together with the number of files
that they stand for. So it may be killed at any instant: no file is left out, and none is counted twice.
"""

import ast
import hashlib
import os
import sysconfig
import time

from longhaul_agent import start_agent

ROOT = os.environ.get("ROOT") or sysconfig.get_path("stdlib")
GROUP_FILES = 20
# A rest after each group, in seconds; it leaves time to watch and to pause.
PACE = float(os.environ.get("PACE", "0"))


def source_files():
    """Sorted, so that every start of the agent sees the same order."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("site-packages", "__pycache__")]
        found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    return sorted(found)


def measure(path, totals):
    """The totals with one more file in them."""
    with open(path, "rb") as file:
        source = file.read()
    kinds = []
    try:
        kinds = [type(node) for node in ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError):
        totals = {**totals, "broken": totals["broken"] + 1}  # Test data, made to be wrong.
    functions = kinds.count(ast.FunctionDef) + kinds.count(ast.AsyncFunctionDef)
    digest = hashlib.sha256((totals["digest"] + path).encode("utf-8", "surrogateescape") + source).hexdigest()
    return {
        **totals,
        "files": totals["files"] + 1,
        "lines": totals["lines"] + source.count(b"\n"),
        "functions": totals["functions"] + functions,
        "classes": totals["classes"] + kinds.count(ast.ClassDef),
        "digest": digest,
    }


agent = start_agent()
paths = source_files()
totals = agent.restore() or {"files": 0, "lines": 0, "functions": 0, "classes": 0, "broken": 0, "digest": ""}

while totals["files"] < len(paths):
    with agent.unit():
        first = totals["files"]
        for path in paths[first : first + GROUP_FILES]:
            totals = measure(path, totals)
        agent.checkpoint(
            step=totals["files"],
            progress=totals["files"] / len(paths),
            message="%(files)d files, %(lines)d lines" % totals,
            state=totals,
        )
    time.sleep(PACE)

agent.done({**totals, "root": ROOT, "starts": agent.incarnation})
