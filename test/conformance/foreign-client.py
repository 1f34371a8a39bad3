"""
Takes a sandbox through its life with the Python package `opensandbox`, one step after the other.

Prints a JSON line for each step: {"step", "error"}. Takes SANDBOX_DOMAIN, OPEN_SANDBOX_API_KEY,
SANDBOX_IMAGE, and SANDBOX_BY (`gateway`: by the endpoints that the API gives, `proxy`: through the API server).
"""

import json
import logging
import os
import time
import uuid
from datetime import timedelta

from opensandbox.config.connection_sync import ConnectionConfigSync
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.filesystem import (
    ContentReplaceEntry,
    DirectoryListEntry,
    MoveEntry,
    SearchEntry,
    SetPermissionEntry,
    WriteEntry,
)
from opensandbox.models.sandboxes import SandboxFilter
from opensandbox.sync.manager import SandboxManagerSync
from opensandbox.sync.sandbox import SandboxSync

FOLDER = "/workspace/foreign"
LABEL = {"client": f"python-{uuid.uuid4().hex[:12]}"}


def config():
    return ConnectionConfigSync(
        domain=os.environ["SANDBOX_DOMAIN"],
        api_key=os.environ["OPEN_SANDBOX_API_KEY"],
        use_server_proxy=os.environ["SANDBOX_BY"] == "proxy",
        disable_metrics=True,
    )


def step(name, work):
    """Runs one step; a failure is told, and ends nothing. Returns what the work gives, or None."""
    result = None
    error = None
    try:
        result = work()
    except Exception as reason:  # Every kind of failure is a finding.
        error = f"{type(reason).__name__}: {reason}"
    print(json.dumps({"step": name, "error": error}), flush=True)
    return result


def expect(seen, wanted):
    if seen != wanted:
        raise AssertionError(f"{seen!r}, not {wanted!r}")


def until(what, condition):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited too long for {what}")
        time.sleep(0.02)


def create():
    return SandboxSync.create(
        os.environ["SANDBOX_IMAGE"],
        entrypoint=["sleep", "3600"],
        env={"FOREIGN": "set"},
        metadata=LABEL,
        resource={"cpu": "500m", "memory": "256Mi"},
        timeout=timedelta(minutes=10),
        extensions={"persistence": "true"},
        connection_config=config(),
        skip_health_check=True,
    )


def lifecycle(sandbox):
    manager = SandboxManagerSync.create(config())
    step("info", lambda: expect(sandbox.get_info().status.state, "Running"))
    step(
        "list by metadata",
        lambda: expect(
            [each.id for each in manager.list_sandbox_infos(SandboxFilter(metadata=LABEL)).sandbox_infos],
            [sandbox.id],
        ),
    )
    step(
        "list by state",
        lambda: expect(manager.list_sandbox_infos(SandboxFilter(states=["Paused"])).sandbox_infos, []),
    )
    step("patch metadata", lambda: sandbox.patch_metadata({"more": "1"}))
    step("renew", lambda: sandbox.renew(timedelta(minutes=20)))
    step("endpoint", lambda: sandbox.get_endpoint(8000).endpoint)
    step("logs", lambda: sandbox.get_diagnostic_logs("container").content)
    step("events", lambda: sandbox.get_diagnostic_events("runtime").content)
    manager.close()


def commands(sandbox):
    run = sandbox.commands.run

    def output():
        execution = run("echo out; echo err >&2; echo $FOREIGN")
        expect([line.text for line in execution.logs.stdout], ["out", "set"])
        expect([line.text for line in execution.logs.stderr], ["err"])
        expect(execution.exit_code, 0)

    def failure():
        execution = run("exit 3")
        expect([execution.error.value, execution.exit_code], ["3", 3])

    def options():
        opts = RunCommandOpts(working_directory="/tmp", envs={"MORE": "a b"})
        expect([line.text for line in run('pwd; echo "$MORE"', opts=opts).logs.stdout], ["/tmp", "a b"])

    def time_out():
        execution = run("sleep 30", opts=RunCommandOpts(timeout=timedelta(seconds=1)))
        if execution.error is None:
            raise AssertionError("the command ended without an error")

    def background():
        execution = run("echo begun; sleep 30", opts=RunCommandOpts(background=True))
        expect(sandbox.commands.get_command_status(execution.id).running, True)
        logs = sandbox.commands.get_background_command_logs
        until("its output in the logs", lambda: "begun" in logs(execution.id).content)
        sandbox.commands.interrupt(execution.id)
        until("its end", lambda: not sandbox.commands.get_command_status(execution.id).running)

    def session():
        session_id = sandbox.commands.create_session(working_directory="/tmp")
        sandbox.commands.run_in_session(session_id, "export kept=yes")
        execution = sandbox.commands.run_in_session(session_id, 'echo "$kept"; pwd')
        expect([line.text for line in execution.logs.stdout], ["yes", "/tmp"])
        sandbox.commands.delete_session(session_id)

    step("health", lambda: expect(sandbox.is_healthy(), True))
    step("output of a command", output)
    step("exit code of a command", failure)
    step("folder and environment of a command", options)
    step("time limit of a command", time_out)
    step("command in the background", background)
    step("session", session)
    step("metrics", lambda: sandbox.get_metrics().cpu_count)


def files(sandbox):
    file = f"{FOLDER}/a.txt"
    content = "grüße\n" * 100_000

    def info():
        seen = sandbox.files.get_file_info([file])[file]
        expect([seen.size, seen.mode, seen.entry_type], [len(content.encode()), 640, "file"])

    def replace():
        entry = ContentReplaceEntry(path=f"{FOLDER}/c.txt", old_content="grüße", new_content="hello")
        sandbox.files.replace_contents([entry])
        expect(sandbox.files.read_file(f"{FOLDER}/c.txt")[:5], "hello")

    def delete():
        sandbox.files.delete_files([f"{FOLDER}/c.txt"])
        sandbox.files.delete_directories([FOLDER])
        expect(sandbox.commands.run(f"test -e {FOLDER}").exit_code, 1)

    step("make a folder", lambda: sandbox.files.create_directories([WriteEntry(path=FOLDER)]))
    step("write a file", lambda: sandbox.files.write_file(file, content, mode=640))
    step("read a file", lambda: expect(sandbox.files.read_file(file), content))
    step(
        "read a range",
        lambda: expect(sandbox.files.read_bytes(file, range_header="bytes=0-2"), b"gr\xc3"),
    )
    step("info of a file", info)
    step(
        "search",
        lambda: expect(
            [e.path for e in sandbox.files.search(SearchEntry(path=FOLDER, pattern="*.txt"))], [file]
        ),
    )
    step(
        "list a folder",
        lambda: expect(
            [e.path for e in sandbox.files.list_directory(DirectoryListEntry(path=FOLDER))], [file]
        ),
    )
    step(
        "permissions",
        lambda: sandbox.files.set_permissions([SetPermissionEntry(path=file, mode=600)]),
    )
    step(
        "move",
        lambda: sandbox.files.move_files([MoveEntry(src=file, dest=f"{FOLDER}/c.txt")]),
    )
    step("replace in a file", replace)
    step("delete files and folders", delete)


def data_plane(sandbox):
    """Create and resume answer before it listens."""
    budget = timedelta(seconds=10), timedelta(milliseconds=50)
    return step("ready", lambda: sandbox.check_ready(*budget) or True)


def main():
    # Its own account of failures would come twice.
    logging.getLogger("opensandbox").setLevel(logging.CRITICAL)
    sandbox = step("create", create)
    if sandbox is None:
        return
    lifecycle(sandbox)
    is_ready = data_plane(sandbox)
    if is_ready:
        commands(sandbox)
        files(sandbox)
        step("keep a file", lambda: sandbox.files.write_file("/workspace/kept", "kept"))
    step("pause", sandbox.pause)
    step("state Paused", lambda: until("Paused", lambda: sandbox.get_info().status.state == "Paused"))
    resumed = step(
        "resume",
        lambda: SandboxSync.resume(sandbox.id, connection_config=config(), skip_health_check=True),
    )
    if resumed is not None and is_ready and data_plane(resumed):
        step("kept file", lambda: expect(resumed.files.read_file("/workspace/kept"), "kept"))
    step("kill", sandbox.kill)


main()
