#!/usr/bin/env python3
"""Longhaul agent kit for Python 3.8 and later: one file without dependencies, copied beside an agent.

Serves the agent's checkpoint, answers drain and input, and lets an agent whose process was stopped go on.
Everything that the agent is told or says is on disk before it is shown or acknowledged, in one file of the
workspace, so that a kill at any instant leaves the state, the answers and the checkpoint of one moment.
For commands that know nothing of Longhaul: python3 longhaul_agent.py run -- COMMAND...
"""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer

# The longest time that a job spec may give a drain.
DRAIN_MAX_SECONDS = 600
# How long work in progress is waited for on SIGTERM; the usual grace before SIGKILL is 10 s or more.
TERM_GRACE_SECONDS = 5
# How often a waiting agent looks for the input file, and a sleeping one at the clock.
POLL_SECONDS = 1
BODY_MAX_BYTES = 1024 * 1024
# Made at the start: some releases of Python 3.12 make no thread once the main one has ended.
SERVER_THREADS = 16


def _sync_folder(path):
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_durably(path, text):
    """Once this returns the file survives a power cut; until then, whoever looks sees the old one or none."""
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    _sync_folder(os.path.dirname(path))


def _read_text(path):
    """None for a file that is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _iso(instant):
    return instant.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _to_json(value):
    # NaN is no JSON, and would make the whole document unreadable for others.
    return json.dumps(value, allow_nan=False)


def _copy(value):
    """A copy as JSON has it, independent of what the agent does to the original."""
    return json.loads(_to_json(value))


def _whole_number(text):
    return int(text) if text and re.fullmatch(r"\d{1,15}", text.strip()) else 0


class Agent:
    """Made by start_agent. Its methods may be called from any thread; ask and sleep_until block theirs."""

    def __init__(self, port, workspace, drain_hold_seconds):
        self._folder = os.path.join(os.path.abspath(workspace), ".longhaul")
        self._hold_seconds = drain_hold_seconds
        self._incarnation = 0
        # What is on disk. "inputs" are all that were ever taken, each with the question that it answers.
        self._saved = {"checkpoint": {"status": "running"}, "state": None, "inputs": []}
        # What GET /state.json answers: always one whole document.
        self._published = None
        self._changed = threading.Condition(threading.RLock())
        self._asking = threading.Lock()
        self._in_unit = threading.local()
        self._units = 0
        self._drains = 0
        # On the monotonic clock, which runs on while a sandbox is frozen: once thawed, the agent works again.
        self._held_until = 0.0
        self._told_to_end = threading.Event()
        self._terminators = []
        # First of all, since a second agent on the same workspace fails here.
        self._server = _Server(("0.0.0.0", port), _Handler)
        self._server.agent = self
        self._load()
        for _ in range(SERVER_THREADS):
            threading.Thread(target=self._serve, daemon=True).start()
        self._watch_process()
        print(
            "longhaul-agent: start %d, http://0.0.0.0:%d/state.json" % (self._incarnation, self.port),
            file=sys.stderr,
            flush=True,
        )
        while self._is_final():
            # What was done stays done: nothing is left to do but to say so.
            time.sleep(3600)

    @property
    def port(self):
        return self._server.server_address[1]

    @property
    def incarnation(self):
        """How many times the job's agent has been started, this start included."""
        return self._incarnation

    @property
    def draining(self):
        """Whether the agent is about to be stopped and should begin nothing new."""
        return self._told_to_end.is_set() or self._drains > 0 or time.monotonic() < self._held_until

    def restore(self):
        """The state of the last checkpoint; None before the first one."""
        return _copy(self._saved["state"])

    def checkpoint(self, step=None, progress=None, message=None, state=None):
        """Returns when state and progress (0 to 1) are on disk, together. What is not given stays."""
        for name, value in (("step", step), ("progress", progress)):
            if value is not None and not math.isfinite(value):
                raise ValueError("%s must be a number, not %s" % (name, value))
        if progress is not None:
            progress = min(1, max(0, progress))
        fields = {"step": step, "progress": progress, "message": message}
        given = {name: value for name, value in fields.items() if value is not None}
        self._publish({"status": "running", **given}, state)

    def ask(self, question):
        """Asks {"id", "text", "schema"} and returns the answer. One that was answered is not asked again."""
        self._forbid_in_unit("ask")
        if not isinstance(question.get("id"), str) or not isinstance(question.get("text"), str):
            raise TypeError("a question needs a text, and an id by which its answer is known after a restart")
        with self._asking:
            return _copy(self._answer_to(question))

    def sleep_until(self, date):
        """Returns when that time (a datetime with its zone, or ISO 8601) has come; at once if it is over.

        Keep the date in the state: one that is reckoned from now moves on with every start.
        """
        self._forbid_in_unit("sleep_until")
        if isinstance(date, str):
            date = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", date))
        if date.tzinfo is None:
            raise ValueError("sleep_until needs a date with its time zone, not %s" % date)
        wake_at = date.timestamp()
        if wake_at > time.time():
            self._publish({"status": "sleeping", "wakeAt": _iso(date)})
        while wake_at > time.time():
            time.sleep(max(0, min(wake_at - time.time(), POLL_SECONDS)))
        self._publish({"status": "running"})

    @contextlib.contextmanager
    def unit(self):
        """with agent.unit(): work that a drain waits for. Begins later if the agent is draining."""
        if getattr(self._in_unit, "is_inside", False):
            # Within a unit nothing is held: the drain waits for the outer one.
            yield
            return
        with self._changed:
            while self.draining:
                self._changed.wait(min(POLL_SECONDS, self._hold_seconds))
            self._units += 1
        self._in_unit.is_inside = True
        try:
            yield
        finally:
            self._in_unit.is_inside = False
            with self._changed:
                self._units -= 1
                self._changed.notify_all()

    def done(self, result=None):
        """The job's end. The result is published until the process is killed, also by later starts."""
        self._publish({"status": "done", "progress": 1, "result": result})

    def fail(self, error):
        """The job's failure. Errors that nobody catches come to the same."""
        if isinstance(error, BaseException):
            error = "".join(traceback.format_exception_only(type(error), error)).strip()
        fields = {"status": "failed", "error": {"message": str(error)}}
        with self._changed:
            try:
                self._publish(fields)
            except OSError:
                # Shown even if it cannot be written, which may be the very failure.
                self._saved["checkpoint"] = fields
                self._show(fields)

    def on_terminate(self, work):
        """work() is called on SIGTERM, in a thread of its own; the process exits when it has returned."""
        self._terminators.append(work)

    def _is_final(self):
        return self._saved["checkpoint"]["status"] in ("done", "failed")

    def _load(self):
        os.makedirs(self._folder, exist_ok=True)
        _sync_folder(os.path.dirname(self._folder))
        starts = _whole_number(_read_text(os.path.join(self._folder, "incarnation")))
        self._count_start(max(starts + 1, _whole_number(os.environ.get("LONGHAUL_INCARNATION"))))
        path = os.path.join(self._folder, "agent.json")
        text = _read_text(path)
        try:
            if text is not None:
                self._saved = json.loads(text)
        except ValueError:
            raise ValueError(path + " is not JSON: somebody else has written it; restore or delete it")
        checkpoint = dict(self._saved["checkpoint"])
        if checkpoint.pop("error", None):
            # Started again after a failure, the agent tries again.
            checkpoint["status"] = "running"
        self._save(checkpoint=checkpoint)

    def _watch_process(self):
        def hook(kind, error, trace):
            traceback.print_exception(kind, error, trace)
            if not issubclass(kind, Exception):
                os._exit(130)
            if not self._is_final():
                self.fail(error)

        sys.excepthook = hook
        # Elsewhere than in the main thread, ending in good order is up to the agent.
        if threading.current_thread() is threading.main_thread():
            # In a thread of its own, since the main one may hold the lock.
            threading.Thread(target=self._terminate, daemon=True).start()
            signal.signal(signal.SIGTERM, lambda *_: self._told_to_end.set())
        threading.Thread(target=self._outlive_main).start()

    def _outlive_main(self):
        """Keeps the process: an agent that has nothing more to do has failed, unless it said done."""
        ours = (threading.current_thread(), threading.main_thread())
        ours[1].join()
        others = True
        while others:
            others = [thread for thread in threading.enumerate() if not thread.daemon and thread not in ours]
            for thread in others:
                thread.join()
        if not self._is_final():
            self.fail("the agent came to its end without saying done or failed")
        while True:
            time.sleep(3600)

    def _terminate(self):
        self._told_to_end.wait()
        deadline = time.monotonic() + TERM_GRACE_SECONDS
        for work in self._terminators:
            with contextlib.suppress(Exception):
                work()
        self._units_to_end(deadline)
        # Whatever is being written is whole then.
        with self._changed:
            try:
                sys.stdout.flush()
            finally:
                os._exit(0)

    def _serve(self):
        while True:
            self._server.handle_request()

    def _count_start(self, incarnation):
        _write_durably(os.path.join(self._folder, "incarnation"), str(incarnation))
        self._incarnation = incarnation

    def _save(self, **changes):
        """One after the other: each change is on disk before it is shown, and before the next one begins."""
        with self._changed:
            saved = {**self._saved, **changes}
            now = _iso(datetime.now(timezone.utc))
            saved["checkpoint"] = {**saved["checkpoint"], "incarnation": self._incarnation, "updatedAt": now}
            _write_durably(os.path.join(self._folder, "agent.json"), _to_json(saved))
            self._saved = saved
            self._show(saved["checkpoint"])
            self._changed.notify_all()

    def _show(self, checkpoint):
        self._published = _to_json(checkpoint).encode()

    def _publish(self, fields, state=None):
        """What is not given stays as it is; what belongs to one status alone goes with it."""
        with self._changed:
            if self._is_final():
                raise RuntimeError("the agent has said %s already" % self._saved["checkpoint"]["status"])
            kept = {k: v for k, v in self._saved["checkpoint"].items() if k not in ("question", "wakeAt")}
            changes = {} if state is None else {"state": _copy(state)}
            self._save(checkpoint={**kept, **_copy(fields)}, **changes)

    def _answer_to(self, question):
        asked = False
        with self._changed:
            while True:
                if asked:
                    self._changed.wait(POLL_SECONDS)
                self._read_input_file()
                inputs = self._saved["inputs"]
                for answer in inputs:
                    if answer["question"] == question["id"]:
                        return answer["value"]
                # An input that came before any question, and names none, answers the first one.
                early = next((each for each in inputs if each["question"] is None), None)
                if early is not None:
                    named = {**early, "question": question["id"]}
                    self._save(inputs=[named if each is early else each for each in inputs])
                    return named["value"]
                if not asked:
                    self._publish({"status": "waiting", "question": question})
                asked = True

    def _take_input(self, document):
        """An input is taken once, and kept for the question that it answers."""
        with self._changed:
            if any(each["id"] == document["id"] for each in self._saved["inputs"]):
                return
            checkpoint = {**self._saved["checkpoint"], "inputId": document["id"]}
            opened = checkpoint.get("question", {}).get("id")
            question = document.get("question")
            if question is None:
                question = opened
            if opened is not None and question == opened:
                del checkpoint["question"]
                checkpoint["status"] = "running"
            taken = {"id": document["id"], "question": question, "value": document.get("value")}
            self._save(checkpoint=checkpoint, inputs=self._saved["inputs"] + [taken])

    def _read_input_file(self):
        """The file stays, since another may take its place at any time: its ID tells that it was taken."""
        try:
            document = json.loads(_read_text(os.path.join(self._folder, "input.json")) or "")
        except ValueError:
            return  # Not there, or not whole yet.
        if isinstance(document, dict) and isinstance(document.get("id"), str) and document["id"]:
            self._take_input(document)

    def _forbid_in_unit(self, name):
        if getattr(self._in_unit, "is_inside", False):
            raise RuntimeError(name + " within a unit: a drain would wait for it in vain")

    def _units_to_end(self, deadline):
        with self._changed:
            while self._units > 0 and time.monotonic() < deadline:
                self._changed.wait(deadline - time.monotonic())
            return self._units == 0

    def _learn_incarnation(self, told):
        """The orchestrator counts starts that the workspace knows nothing of, as when it was restored."""
        with self._changed:
            if told > self._incarnation:
                self._count_start(told)
                self._save()

    def _drain(self):
        """Whether all work in progress has ended; from then on nothing is begun for a while."""
        with self._changed:
            self._drains += 1
            has_ended = self._units_to_end(time.monotonic() + DRAIN_MAX_SECONDS)
            self._held_until = time.monotonic() + self._hold_seconds
            self._drains -= 1
            return has_ended


class _Server(TCPServer):
    # Not HTTPServer, which asks the name service for this machine's name before it serves.
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Somebody went away; nothing to be said about it."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 60

    def do_GET(self):
        if self.path.split("?")[0] == "/state.json":
            return self._send(200, self.server.agent._published)
        self._send_unknown()

    def do_POST(self):
        agent = self.server.agent
        body = self._read_body()
        if body is None:
            return self._refuse(413, "the body is larger than %d bytes" % BODY_MAX_BYTES)
        agent._learn_incarnation(_whole_number(self.headers.get("Longhaul-Incarnation")))
        path = self.path.split("?")[0]
        if path == "/drain":
            if agent._drain():
                return self._send(200, agent._published)
            return self._refuse(503, "a unit of work does not end")
        if path == "/input":
            try:
                document = {"id": self.headers.get("Longhaul-Input-Id"), **json.loads(body)}
            except (ValueError, TypeError):
                return self._refuse(400, "the body is not a JSON object")
            if not isinstance(document["id"], str) or document["id"] == "":
                return self._refuse(400, "the input has no id")
            agent._take_input(document)
            return self._send(200, agent._published)
        if path == "/nudge":
            return self._send(204, b"")
        self._send_unknown()

    def log_message(self, *_):
        """Being polled is not worth a line."""

    def _read_body(self):
        """None for a body that is too large."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            size = _whole_number(self.headers.get("Content-Length"))
            return None if size > BODY_MAX_BYTES else self.rfile.read(size)
        body = b""
        while True:
            size = int(self.rfile.readline(1024).split(b";")[0], 16)
            if len(body) + size > BODY_MAX_BYTES:
                return None
            body += self.rfile.read(size)
            while self.rfile.readline(1024).strip():
                pass  # Trailers, of which there are none but after the last chunk.
            if size == 0:
                return body

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status, error):
        self._send(status, _to_json({"error": error}).encode())

    def _send_unknown(self):
        self._refuse(404, "there are GET /state.json, POST /drain, POST /input and POST /nudge")


def start_agent(port=None, workspace=None, drain_hold_seconds=60.0):
    """Counts this start and serves the checkpoint. Never returns for a job that is done, but serves on.

    Port and workspace are by default LONGHAUL_PORT and LONGHAUL_WORKSPACE, else 8000 and /workspace.
    A drained agent that nobody stops begins no unit for drain_hold_seconds.
    """
    if port is None:
        port = int(os.environ.get("LONGHAUL_PORT", "8000"))
    return Agent(port, workspace or os.environ.get("LONGHAUL_WORKSPACE", "/workspace"), drain_hold_seconds)


# Longest part of a command's output that is shown; an orchestrator keeps no more.
OUTPUT_MAX_CHARS = 400
# How long a command's death by a signal may be the beginning of this process's own.
SIGNAL_GRACE_SECONDS = 2


def _progress_in(line, pattern):
    """How far a line says it is: a share such as 0.4, a percentage, or "3/7" (also as two groups)."""
    match = pattern.search(line)
    if match is None or not match.group(1):
        return None
    part, _, whole = match.group(1).partition("/")
    if pattern.groups > 1 and match.group(2):
        whole = match.group(2)
    try:
        number = float(part.rstrip("%"))
        if whole:
            share = number / float(whole)
        else:
            is_percent = part.endswith("%") or line[match.end(1) :].startswith("%") or number > 1
            share = number / (100 if is_percent else 1)
    except (ValueError, ZeroDivisionError):
        return None
    return share if math.isfinite(share) else None


class _Output:
    """What a command has said: passed on, its last lines and its progress kept."""

    def __init__(self, pattern):
        self._pattern = pattern
        self._lock = threading.Lock()
        self.lines = []
        self.progress = None
        self.is_new = False

    def read(self, source, target):
        rest, is_open = b"", True
        while is_open:
            chunk = os.read(source.fileno(), 65536)
            is_open = len(chunk) > 0
            target.buffer.write(chunk)
            target.flush()
            # Bars of progress return the carriage instead of ending the line.
            *lines, rest = re.split(rb"[\r\n]+", rest[-65536:] + chunk)
            for line in lines if is_open else [*lines, rest]:
                self._note(line.decode("utf-8", "replace"))

    def tail(self):
        return "\n".join(self.lines)[-OUTPUT_MAX_CHARS:]

    def _note(self, line):
        if not line.strip():
            return
        with self._lock:
            if self._pattern is not None:
                progress = _progress_in(line, self._pattern)
                self.progress = self.progress if progress is None else progress
            self.lines = [*self.lines, line][-3:]
            self.is_new = True


def _run(agent, command, pattern, result_file):
    """Runs a command to its end and speaks for it. A restart runs it again, unless it had ended well."""
    env = {**os.environ, "LONGHAUL_INCARNATION": str(agent.incarnation)}
    # A process group of its own, so that all parts of a pipeline can be told to end.
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    output = _Output(pattern)
    told_to_end = agent._told_to_end
    starting = threading.Lock()
    child, readers = None, []

    def terminate():
        deadline = time.monotonic() + TERM_GRACE_SECONDS - 0.5
        # Told while it starts the command, it ends what it has started.
        with starting, contextlib.suppress(ProcessLookupError):
            if child is None:
                return
            os.killpg(child.pid, signal.SIGTERM)
            # Closed by the last part that ends, which need not be the first process.
            for reader in readers:
                reader.join(max(0, deadline - time.monotonic()))
            os.killpg(child.pid, signal.SIGKILL)

    agent.on_terminate(terminate)
    with starting:
        if not told_to_end.is_set():
            try:
                child = subprocess.Popen(command, env=env, start_new_session=True, bufsize=0, **pipes)
            except OSError as error:
                return agent.fail("the command could not be started: %s" % error)
            for way in ((child.stdout, sys.stdout), (child.stderr, sys.stderr)):
                readers.append(threading.Thread(target=output.read, args=way, daemon=True))
                readers[-1].start()

    def report():
        if output.is_new and not told_to_end.is_set():
            output.is_new = False
            agent.checkpoint(progress=output.progress, message=output.tail())

    code = 0
    while child is not None:
        try:
            code = child.wait(1)
            break
        except subprocess.TimeoutExpired:
            report()
    for reader in readers:
        # What a command left running may keep its output open for ever.
        reader.join(1)
    if code < 0 or code > 128:
        told_to_end.wait(SIGNAL_GRACE_SECONDS)
    if told_to_end.is_set():
        # The orchestrator ends both; how the command took it says nothing about its work.
        threading.Event().wait()
    report()
    if code != 0:
        why = "was ended by %s" % signal.Signals(-code).name if code < 0 else "ended with exit code %d" % code
        return agent.fail("the command %s%s" % (why, ": " + output.tail() if output.lines else ""))
    if result_file is None:
        return agent.done({"exitCode": 0, "output": output.tail()})
    text = _read_text(result_file)
    if text is None:
        return agent.fail("the command ended well, but its result %s is not there" % result_file)
    try:
        agent.done(json.loads(text))
    except ValueError:
        agent.done(text)


_USAGE = "usage: python3 longhaul_agent.py run [--port N] [--progress REGEX] [--result FILE] -- COMMAND..."


def _read_arguments(argv):
    """Raises what is wrong with the command line, for a person to read."""
    end = argv.index("--") if "--" in argv else 0
    command = argv[end + 1 :]
    flags = dict(zip(argv[1:end:2], argv[2:end:2]))
    is_known = all(flag in ("--port", "--progress", "--result") for flag in flags)
    if argv[:1] != ["run"] or end % 2 != 1 or not command or not is_known:
        raise ValueError(_USAGE)
    pattern = re.compile(flags["--progress"]) if "--progress" in flags else None
    if pattern is not None and pattern.groups == 0:
        raise ValueError('--progress needs a group, such as "([0-9]+)%"')
    port = int(flags["--port"]) if "--port" in flags else None
    return port, command, pattern, flags.get("--result")


if __name__ == "__main__":
    try:
        _port, *_asked = _read_arguments(sys.argv[1:])
    except (ValueError, re.error) as _error:
        print("longhaul-agent: %s" % _error, file=sys.stderr)
        sys.exit(2)
    _run(start_agent(port=_port), *_asked)
