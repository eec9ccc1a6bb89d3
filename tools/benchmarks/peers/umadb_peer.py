"""UmaDB, an event store with its own server, through its Python client over loopback.

    append-1      one event per request; a request is a commit
    append-1000   1,000 events per request, each with its video as its only tag
    read          every event in order, summing the first 8 bytes of every payload

The figures include the client's share of the time, because every program that uses UmaDB pays for it.
"""

import argparse
import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

import umadb

VERSION = "UmaDB 0.7.8"
MASK = (1 << 64) - 1
FIRST_SECOND = 1_350_000_000
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def mix(x):
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def workload(events, videos, seed):
    """Yields the data set of workload.h, as tuples of the fields that the digest covers."""
    videos = min(videos, events)
    octaves = max((videos - 1).bit_length(), 1)
    stride = events // videos
    sequences = [0, 0, 0]

    def draw(i, k):
        return mix(seed + (4 * i + k + 1) * 0x9E3779B97F4A7C15 & MASK)

    for i in range(events):
        random, who, words, rest = (draw(i, k) for k in range(4))
        if i % stride == 0 and i // stride < videos:
            video = (i // stride * 7368787 + 12345) % videos
        else:
            low = (1 << (random >> 32) % octaves) - 1
            video = (low + (random & low)) % videos
        origin = who % 3
        sequences[origin] += 1
        second = FIRST_SECOND + i
        created_at = second - 1 - (who >> 16) % 2592000 if (who >> 8) % 10 == 0 else second
        yield (key(video), i + 1, origin, sequences[origin], second * 1000, rest % 8,
               words % 1000, (words >> 32) % 5000, created_at, rest)


def key(video):
    bits = mix(video + 1)
    head = "".join(DIGITS[bits >> (58 - 6 * c) & 63] for c in range(10))
    return "youtube:" + head + DIGITS[(bits & 15) << 2]


def digest(options):
    total = 0
    for name, *fields in workload(options.events, options.videos, options.seed):
        for value in [*name.encode(), *fields]:
            total = mix(total ^ value)
    return f"{total:016x}"


def make_events(options, tagged):
    filler = b"p" * 192
    return [
        umadb.Event(
            event_type=f"type{fields[5]}",
            data=fields[9].to_bytes(8, "little") + filler,
            tags=[fields[0]] if tagged else [])
        for fields in workload(options.events, options.videos, options.seed)
    ]


class Server:
    """Runs the server on a free loopback port; the end of the `with` block always stops it."""

    def __init__(self, directory):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % probe.getsockname()[1]
        self.directory = pathlib.Path(directory)

    def __enter__(self):
        program = pathlib.Path(sys.executable).parent / "umadb"
        self.log = open(self.directory / "server.log", "w+")
        self.process = subprocess.Popen(
            [program, "--listen", self.address, "--db-path", self.directory / "uma.db"],
            stdout=self.log, stderr=self.log)
        try:
            return self.connect()
        except BaseException:
            self.__exit__()
            raise

    def connect(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                client = umadb.Client("http://" + self.address)
                client.head()
                return client
            except Exception as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.log.seek(0)
                    sys.exit(f"umadb_peer: no server: {error}\n{self.log.read()}")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def append(client, events, per_commit):
    start = time.perf_counter()
    for first in range(0, len(events), per_commit):
        client.append(events[first:first + per_commit])
    return time.perf_counter() - start


def read(client, count):
    total, seen = 0, 0
    start = time.perf_counter()
    response = client.read()
    while batch := response.next_batch():
        for found in batch:
            total += int.from_bytes(found.event.data[:8], "little")
        seen += len(batch)
    seconds = time.perf_counter() - start
    if seen != count:
        sys.exit(f"umadb_peer: {seen} of {count} events")
    return seconds, total & MASK


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=["digest", "append-1", "append-1000", "read"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--videos", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    line = {"measure": options.measure, "peer": "umadb", "events": options.events}
    if options.measure == "digest":
        print(json.dumps(line | {"digest": digest(options)}))
        return

    # Without this handler, SIGTERM would leave the server running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    events = make_events(options, tagged=options.measure == "append-1000")
    with Server(options.dir) as client:
        if options.measure == "read":
            append(client, events, 1000)
            seconds, total = read(client, options.events)
            line["checksum"] = f"{total:016x}"
        else:
            seconds = append(client, events, 1 if options.measure == "append-1" else 1000)
    print(json.dumps(line | {
        "seconds": seconds, "perSecond": options.events / seconds, "version": VERSION,
        "durability": "server's default"}))


if __name__ == "__main__":
    main()
