"""Processes and files for a run of an app: a simulated system, a sync server and the stores of two devices.

Every process is a real `storectl`. The stage kills commands at random moments, and ends all processes and removes all
files when it is closed.
"""

import contextlib
import json
import os
import pathlib
import random
import select
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

# The time limits of a command, and of a server until it accepts requests.
COMMAND_SECONDS_MAX = 120
START_SECONDS_MAX = 60
# The assumed duration of a command that has not been measured yet.
COMMAND_SECONDS = 0.05
# A killed command has run for at most this multiple of its usual duration.
KILL_FACTOR = 0.9
FREE_BYTES_MIN = 1 << 29
# The maximum length of a value in a report.
TEXT_MAX = 600


class Failure(Exception):
    """A command did not behave as documented, or a limit was exceeded."""


def scratch_base():
    """Returns /dev/shm if it has enough space, because the runs do not depend on a disk; else None."""
    memory = "/dev/shm"
    return memory if os.path.isdir(memory) and shutil.disk_usage(memory).free >= FREE_BYTES_MIN else None


class Result:
    """The exit code and the output of a finished command; `killed` if the stage ended it."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.err = words, code, err
        self.killed = code == -signal.SIGKILL
        self.lines = []
        for line in out.splitlines():
            with contextlib.suppress(ValueError):
                self.lines.append(json.loads(line))
        self.document = self.lines[0] if self.lines else None

    @property
    def error(self):
        """The code of the reported error, or None."""
        error = (self.document or {}).get("error") if isinstance(self.document, dict) else None
        return error["code"] if error else None

    def __str__(self):
        return f"storectl {' '.join(self.words)}: exit code {self.code}, {json.dumps(self.document)[:600]} {self.err[-400:]}"


class Stage:
    """A temporary directory with the processes of one run."""

    def __init__(self, storectl, seed, verbose=False):
        self.storectl = str(storectl)
        self.random = random.Random(seed)
        self.verbose = verbose
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="tapedeck-app-", dir=scratch_base()))
        self.processes = []
        self.usual = {}
        self.kills = 0
        self.commands = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def begin(self, words, stdin=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
        """Starts a command; the stage ends it at the latest when it is closed."""
        process = subprocess.Popen(
            [self.storectl, *words], stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=stdout,
            stderr=stderr, cwd=self.place, env=dict(os.environ, TMPDIR=str(self.place)))
        self.processes.append(process)
        self.commands += 1
        return process

    def finish(self, words, process, stdin=None, kill_after=None):
        """Waits for a command, or kills it if it is still running after `kill_after` seconds."""
        try:
            out, err = process.communicate(stdin, timeout=COMMAND_SECONDS_MAX if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            if kill_after is None:
                raise Failure(f"storectl {' '.join(words)} is still running after {COMMAND_SECONDS_MAX} seconds") from None
        self.processes.remove(process)
        result = Result(words, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
        if self.verbose:
            print(f"  {result}", flush=True)
        return result

    def run(self, words, codes=(0,), stdin=None, kills=False):
        """Runs a command, or kills it at a random moment; any other exit code than `codes` is a failure."""
        name = " ".join(word for word in words[:2] if not word.startswith("-"))
        usual = self.usual.get(name, COMMAND_SECONDS)
        kill_after = self.random.uniform(0, KILL_FACTOR * usual) if kills else None
        data = stdin.encode() if stdin is not None else None
        started = time.monotonic()
        result = self.finish(words, self.begin(words, data), data, kill_after)
        if result.killed:
            self.kills += 1
            return result
        self.usual[name] = time.monotonic() - started
        if result.code not in codes:
            raise Failure(str(result))
        return result


class Service:
    """A `storectl` process that listens: a simulator or a sync server."""

    def __init__(self, stage, *words):
        self.stage, self.words, self.port = stage, words, "0"
        self.start()

    def start(self):
        words = [*self.words, "--port", self.port, "--json"]
        log = open(self.stage.place / f"{self.words[0]}.log", "ab")
        with log:
            self.process = self.stage.begin(words, stderr=log)
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS_MAX)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            raise Failure(f"storectl {' '.join(words)} did not start: {(self.stage.place / log.name).read_text()[-400:]}")
        self.document = json.loads(line)
        self.url = self.document["url"]
        self.port = self.url.rsplit(":", 1)[1]

    def stop(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(timeout=COMMAND_SECONDS_MAX)
        self.process.stdout.close()
        self.stage.processes.remove(self.process)

    def restart(self):
        """Kills the process and starts it again at the same address."""
        self.stop()
        self.start()

    def request(self, method, path, form=None, headers=None):
        """Sends a request of its own, and returns the JSON document in the response, or None."""
        data = form.encode() if form is not None else (b"" if method in ("POST", "PUT") else None)
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers or {})
        with urllib.request.urlopen(request, timeout=COMMAND_SECONDS_MAX) as response:
            body = response.read()
        return json.loads(body) if body else None


class Device:
    """A device with its own store."""

    def __init__(self, stage, name, kills, *options):
        self.stage, self.name, self.kills = stage, name, kills
        self.run("init", *options)

    def run(self, *words, codes=(0,), stdin=None, kills=False):
        return self.stage.run([*words, "--store", self.name, "--json"], codes, stdin, kills)

    def ask(self, *words):
        """Returns the document of a query."""
        return self.run("query", *words).document

    def pages(self, field, *words, limit=500):
        """Returns all rows of a list, page by page."""
        rows, cursor = [], None
        while True:
            page = self.run(*words, "--limit", str(limit), *(["--cursor", cursor] if cursor else [])).document
            rows += page[field]
            cursor = page["next"]
            if cursor is None:
                return rows

    def head(self):
        return self.run("status").document["events"]

    def log(self, *words):
        return self.run("log", *words).lines

    def append(self, lines):
        """Appends events, like an app that repeats an append if the process was killed before the report.

        Returns the ids of the recorded events.
        """
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return self.recorded(["append", "--file", "-"], [line["type"] for line in lines], text)

    def do(self, *words, records=(), codes=(0,)):
        """Performs an action; returns the ids of the recorded events, or None if it was refused."""
        return self.recorded(["do", *words], list(records), None, codes)

    def recorded(self, words, types, stdin, codes=(0,)):
        if not self.kills.now():
            return self.ids(self.run(*words, codes=codes, stdin=stdin))
        before = self.head()
        result = self.run(*words, codes=codes, stdin=stdin, kills=True)
        if not result.killed:
            return self.ids(result)
        self.kills.done()
        found = [event for event in self.log("--after", str(before)) if event["type"] in types]
        if result.document and not result.error and result.document["recorded"] != len(found):
            raise Failure(f"{result}: reported before it was killed, but the log has {found}")
        if len(found) not in (0, len(types)) and words[0] == "do":
            raise Failure(f"{result}: was killed, and recorded only a part of {types}: {found}")
        if len(found) == len(types):
            return [event["id"] for event in found]
        rest = "".join(line + "\n" for line in stdin.splitlines()[len(found):]) if stdin else None
        return [event["id"] for event in found] + (self.ids(self.run(*words, codes=codes, stdin=rest)) or [])

    @staticmethod
    def ids(result):
        if result.code:
            return None
        first, last = result.document["first"], result.document["last"]
        if first is None:
            return []
        origin, start = first["id"].rsplit("-", 1)
        return [f"{origin}-{number}" for number in range(int(start), int(last["id"].rsplit("-", 1)[1]) + 1)]


class Kills:
    """Chooses the commands to kill: `count` of the next `steps` commands, at random."""

    def __init__(self, stage, count):
        self.stage, self.left, self.steps = stage, count, 0

    def plan(self, steps):
        self.steps = steps

    def now(self):
        """Whether to kill the next command."""
        if not self.left or not self.steps:
            return False
        chosen = self.stage.random.random() < self.left / self.steps
        self.steps -= 1
        return chosen

    def done(self):
        self.left -= 1


class Report:
    """The results of the comparisons for each row."""

    def __init__(self, rows):
        self.rows = {row: 0 for row in rows}
        self.failures = []
        self.waiting = []

    @property
    def count(self):
        return sum(self.rows.values())

    def equal(self, row, what, expected, actual):
        """Compares two values; the row has failed if they differ."""
        self.rows[row] = self.rows.get(row, 0) + 1
        if expected != actual:
            self.failures.append((row, f"{what}: expected {self.short(expected)}, got {self.short(actual)}"))

    def each(self, row, what, expected, actual):
        """Compares the values of all keys of two dictionaries."""
        for key in sorted({*expected, *actual}):
            self.equal(row, f"{what}, {key}", expected.get(key), actual.get(key))

    def true(self, row, what, value):
        self.equal(row, what, True, bool(value))

    def fail(self, row, text):
        self.failures.append((row, text))

    def waits(self, row, reason):
        """Notes the part of a row that cannot be tested."""
        self.waiting.append((row, reason))

    @staticmethod
    def short(value):
        text = json.dumps(value, default=sorted, ensure_ascii=False)
        return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + " ..."

    def show(self):
        failed = {row for row, _ in self.failures}
        for row, count in self.rows.items():
            if row not in failed:
                print(f"ok    {row:<8} {count} comparisons" if count else f"none  {row:<8} nothing was compared")
        for row, text in self.failures:
            print(f"FAIL  {row:<8} {text}")
        for row, text in self.waiting:
            print(f"waits {row:<8} {text}")
