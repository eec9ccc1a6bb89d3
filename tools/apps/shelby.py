"""Goes through the rows of Shelby and SPVideoReel (SH1 to SH15, SR1 to SR6) on two devices.

The expectations are computed here: from the actions of the run, from what the simulated system shows through its own
API, and from the rules of the original apps. None of them is computed by Tapedeck.
"""

import math
import time

from shelby_cases import Cases
from shelby_comparisons import Comparisons
from shelby_remote import Ledger, RemoteV1, RemoteV2
from shelby_rules import DAY, DURATION, FINISHED_SECONDS, Expectation, Viewing, iso
from stage import Device, Failure, Kills, Service

ROWS = [f"SH{number}" for number in range(1, 16)] + [f"SR{number}" for number in range(1, 7)]
REMOTES = {"v1": RemoteV1, "v2": RemoteV2}
# The videos of the random actions; few, so that actions on both devices concern the same video.
VIDEOS = 12
VIDEOS_MIN = 6
# The videos among them that an app reports in intervals only.
INTERVAL_VIDEOS = 2
# The videos of the fixed cases.
CASE_VIDEOS = 8
# The number of random actions that each kill adds to a run.
ACTIONS_PER_KILL = 2
# The limit on the number of syncs of each device until nothing changes any more.
ROUNDS_MAX = 40
LOGINS_MAX = 30
# The time for which the other users act before the faults end, by the simulator's clock.
OTHERS_MILLISECONDS = 60_000


class Shelby(Cases, Comparisons):
    """One run with one version of Shelby's API."""

    def __init__(self, place, report, seed, actions, kills, api):
        self.stage, self.report, self.api = place, report, api
        self.random = place.random
        self.actions = actions
        self.kills = Kills(place, kills)
        self.expected = Expectation()
        self.number = 0
        self.simulator = Service(
            place, "simulate", "shelby", "--seed", str(seed), "--adversary", "--journal", "journal")
        self.remote = REMOTES[api](self.simulator)
        self.server = Service(place, "serve", "--data", "server")
        (place.place / "password").write_text("difference engine\n")
        (place.place / "token").write_text(
            "ada-oauth-token\nada-oauth-secret\nsample-consumer-key\nsample-consumer-secret\n")

    def run(self):
        self.start()
        self.act()
        self.try_cases()
        self.settle()
        self.compare_ledger()
        self.compare_devices()
        self.compare_lists()
        self.compare_players()
        self.try_last_cases()

    # Signing in and syncing

    def start(self):
        """Sets up both devices, and chooses the videos that the actions are about."""
        self.phone = Device(self.stage, "phone", self.kills)
        self.phone.run("remote", "add", "home", "shelby", self.simulator.url + self.remote.suffix)
        self.log_in(self.phone)
        for _ in range(ROUNDS_MAX):
            if self.sync_remote(self.phone).code == 0:
                break
        self.sync_server(self.phone)
        self.tablet = Device(self.stage, "tablet", self.kills)
        self.sync_server(self.tablet)
        self.log_in(self.tablet)
        self.devices = [self.phone, self.tablet]
        rows = self.phone.pages("videos", "query", "list", "timeline")
        if len(rows) < VIDEOS_MIN + CASE_VIDEOS:
            raise Failure(f"the timeline has only {len(rows)} videos after the first sync")
        self.random.shuffle(rows)
        self.marked = {row["key"] for row in rows if row["watchLater"]}
        # Videos without a mark first, for the fixed cases.
        keys = [row["key"] for row in sorted(rows, key=lambda row: row["watchLater"])]
        self.marked_again = sorted(self.marked)[:1]
        keys = [key for key in keys if key not in self.marked_again]
        self.case_videos, keys = keys[:CASE_VIDEOS], keys[CASE_VIDEOS:]
        # Videos with intervals have no viewings, so that no report covers the same part of the video.
        self.interval_videos, keys = keys[:INTERVAL_VIDEOS], keys[INTERVAL_VIDEOS:]
        self.random.shuffle(keys)
        self.videos = keys[:VIDEOS - INTERVAL_VIDEOS]
        with open(self.stage.place / "watch", "wb") as output:
            self.watch = self.stage.begin(
                ["watch", "list", "timeline", "--limit", "500", "--store", "tablet", "--json"], stdout=output)

    def log_in(self, device):
        words = (["--user", "ada@example.org", "--password-file", "password"] if self.api == "v1" else
                 ["--token-file", "token"])
        for _ in range(LOGINS_MAX):
            if device.run("login", "home", *words, codes=(0, 7)).code == 0:
                return
        raise Failure(f"{device.name} could not log in {LOGINS_MAX} times")

    def sync_remote(self, device, kills=False):
        return self.sync(device, ["sync", "home"], kills)

    def sync_server(self, device, kills=False):
        return self.sync(device, ["sync", self.server.url, "--token-file", self.server.document["tokenFile"]], kills)

    def sync(self, device, words, kills):
        kills = kills and self.kills.now()
        result = device.run(*words, codes=(0, 2, 7), kills=kills)
        if result.killed:
            self.kills.done()
        return result

    # Random actions

    def act(self):
        """Performs random actions on both devices, mostly offline, with syncs and restarts in between."""
        kinds = {
            self.like: 6, self.mark: 6, self.play: 8, self.comment: 5, self.share: 4, self.watched: 4, self.extract: 3,
            self.check: 3, self.enqueue: 4, self.now_playing: 2, self.visit: 2, self.sync_home: 5, self.sync_devices: 4,
            self.restart: 2,
        }
        steps = self.actions + ACTIONS_PER_KILL * self.kills.left
        self.kills.plan(steps)
        for _ in range(steps):
            action = self.random.choices(list(kinds), kinds.values())[0]
            action(self.random.choice(self.devices), self.random.choice(self.videos))
        # The remaining kills hit syncs, which take longest.
        while self.kills.left:
            self.kills.plan(1)
            self.sync_home(self.random.choice(self.devices), None)

    def unique(self):
        self.number += 1
        return self.number

    def intend(self, ids, type, video, **details):
        for event in ids or []:
            self.expected.intents[event] = dict(type=type, video=video, **details)

    def toggle(self, device, video, type, on):
        ids = device.append([{"type": type, "payload": {"video": video, "isOn": on}}])
        self.expected.toggles[type].append((time.time(), video, on, ids[0]))
        self.intend(ids, type, video, on=on)

    def like(self, device, video):
        self.toggle(device, video, "LikeToggled", self.random.random() < 0.6)

    def mark(self, device, video):
        self.toggle(device, video, "WatchLaterToggled", self.random.random() < 0.8)

    def play(self, device, video):
        """A viewing that stops somewhere, passes 75 % or reaches the end; now, or on one of the last days."""
        number = self.unique()
        # The end differs from that of every other viewing, so that the ledger shows which viewing was reported.
        end = self.random.choice([40, 100, 120, 180, 200, DURATION - 2]) + number / 1000
        positions = [0, *range(15, math.floor(end), 45), end]
        name = f"viewing-{number}"
        today = self.random.random() < 0.7
        # Reports of past days have the times at which they were made; new ones have a player's steady clock.
        start = time.time() if today else math.floor(time.time() / DAY - self.random.randrange(1, 6)) * DAY + DAY / 2
        start += 0 if today else self.random.randrange(0, 20_000)
        lines, reports = [], []
        for position in positions:
            payload = {"video": video, "viewing": name, "positionSeconds": position, "durationSeconds": DURATION}
            line = {"type": "PlaybackProgressed", "payload": payload}
            if today:
                payload["playedSeconds"] = position
            else:
                line["at"] = iso(start + position)
            reports.append((start if today else start + position, position))
            lines.append(line)
        self.intend(device.append(lines), "PlaybackProgressed", video)
        if today:
            now = time.time()
            reports = [(now, position) for _, position in reports]
        self.expected.viewings.append(Viewing(video, name, reports))
        if self.random.random() < 0.5:
            complete = positions[-1] >= DURATION - FINISHED_SECONDS
            self.watch_interval(device, video, 0, end, complete, name)

    def watched(self, device, video):
        """An interval that an app reports without positions."""
        # These videos have no viewings, so that no report covers the same part.
        video = self.random.choice(self.interval_videos)
        start = 3 * self.unique()
        self.watch_interval(device, video, start, start + 2, False, None)

    def watch_interval(self, device, video, start, end, complete, viewing):
        payload = {"video": video, "startSeconds": start, "endSeconds": end}
        if complete:
            payload["isComplete"] = True
        if viewing:
            payload["viewing"] = viewing
        ids = device.append([{"type": "VideoWatched", "payload": payload}])
        self.intend(ids, "VideoWatched", video, text=f"{start}-{end}")
        if not viewing:
            self.expected.intervals.append((video, end - start))

    def comment(self, device, video):
        text = f"remark {self.unique()}"
        ids = device.append([{"type": "CommentPosted", "payload": {"video": video, "text": text, "author": "ada"}}])
        self.expected.comments.append((video, text))
        self.intend(ids, "CommentPosted", video, text=text)

    def share(self, device, video):
        destinations = self.random.choice([["twitter"], ["facebook"], ["twitter", "facebook"], ["email"]])
        text = f"see this {self.unique()}"
        words = ["share", video, "--text", text]
        recipient = None
        if destinations == ["email"]:
            recipient = f"{self.random.choice(['bob', 'cleo', 'dan'])}@example.org"
            words += ["--recipient", recipient]
        for destination in destinations:
            words += ["--to", destination]
        ids = device.do(*words, records=["VideoShared"] * len(destinations), codes=(0, 4))
        if ids is not None:
            self.shared(ids, video, destinations, text, recipient)
        elif video not in self.removed(device):
            raise Failure(f"{device.name}: {video} was not found, but the remote has removed none of its broadcasts")

    def shared(self, ids, video, destinations, text, recipient):
        """Notes a share, which is one intent for each destination, in the order of their names."""
        self.expected.shares.append((time.time(), video, destinations, text, recipient))
        for event, destination in zip(ids, sorted(destinations)):
            self.intend([event], "VideoShared", video, text=text, destination=destination)

    @staticmethod
    def removed(device):
        """The videos of broadcasts that the remote has removed."""
        return {event["payload"]["video"] for event in device.log("--type", "BroadcastReceived")
                if event["payload"].get("removed")}

    def visit(self, device, video):
        self.intend(device.do("visit", records=["VisitStarted"]), "VisitStarted", None)

    def extract(self, device, video):
        if self.random.random() < 0.6:
            url, at = f"https://cdn.example.org/{self.unique()}.mp4", time.time()
            device.append([{"type": "VideoExtracted", "payload": {"video": video, "url": url, "extractedAt": iso(at)}}])
            self.expected.extractions.append((video, url, at))
        elif device.do("fail-extraction", video, "timeout", records=["ExtractionFailed"], codes=(0, 3)):
            self.expected.extractions.append((video, None, time.time()))

    def check(self, device, video):
        outcome = self.random.choice(["playable", "unplayable", "failed"])
        words = ["playability", video, outcome] + (["--reason", "gone"] if outcome != "playable" else [])
        if device.do(*words, records=["PlayabilityChecked"], codes=(0, 3)):
            self.expected.checks.append((video, outcome))

    def enqueue(self, device, video):
        change = self.random.choice(["add", "add", "next", "remove"])
        type = {"add": "VideoQueued", "next": "VideoQueuedNext", "remove": "VideoUnqueued"}[change]
        if device.do("queue", change, video, records=[type], codes=(0, 3, 4)):
            self.expected.queue.append((change, video))

    def now_playing(self, device, video):
        position = self.random.randrange(10, 100)
        device.append([{"type": "NowPlayingChanged", "payload": {
            "device": device.name, "video": video, "viewing": f"open-{self.unique()}", "positionSeconds": position,
            "isPlaying": False}}])

    def sync_home(self, device, video):
        """Syncs with the remote, but only after a sync with the other device.

        Otherwise, an older toggle of this device could reach the remote after a newer one of the other device.
        """
        if self.sync_server(device, kills=True).code == 0:
            self.sync_remote(device, kills=True)

    def sync_devices(self, device, video):
        self.sync_server(device, kills=True)

    def restart(self, device, video):
        """Kills the sync server or the simulated system; both continue with their data."""
        self.random.choice([self.server, self.simulator]).restart()

    # Settling

    def settle(self):
        """Lets the other users act for a minute, ends the faults, and syncs until nothing changes."""
        for device in [*self.devices, self.phone]:
            self.sync_server(device)
        for device in self.devices:
            self.sync_remote(device)
        self.sync_server(self.phone)
        self.news_position = self.phone.head()
        self.simulator.request("POST", f"/_simulator/advance?ms={OTHERS_MILLISECONDS}")
        self.simulator.request("POST", "/_simulator/calm")
        if self.api == "v1":
            self.choose_lists()
        # A usual sync reads only the newest pages, and misses new comments on older entries.
        self.phone.run("sync", "home", "--refresh", codes=(0, 2))
        self.sync_until_quiet()
        self.remote.sign_in()
        self.broadcasts = self.remote.broadcasts()
        self.ledger = Ledger(self.simulator, self.remote.account)
        # The marks of a removed broadcast end with it, so nothing is expected of such a video.
        self.gone = self.removed(self.phone)
        rows = self.phone.pages("items", "outbox")
        self.undelivered = {row["event"]: row["delivery"] for row in rows}

    def choose_lists(self):
        """Reads the followed rolls on the phone, and one of these rolls on the tablet."""
        self.phone.run("sync", "home", "--list", "following", codes=(0, 2))
        self.remote.sign_in()
        rolls = self.phone.pages("lists", "query", "lists")
        others = [roll["list"] for roll in rolls if roll["owner"] != self.remote.account]
        self.chosen_roll = self.random.choice(sorted(others))
        self.tablet.run("sync", "home", "--list", self.chosen_roll, codes=(0, 2))

    def sync_until_quiet(self):
        for _ in range(ROUNDS_MAX):
            results = []
            for device in self.devices:
                results += [self.sync_server(device), self.sync_remote(device), self.sync_server(device)]
            if not any(result.code == 7 or result.document["pushed"] or result.document["pulled"] for result in results):
                return
        raise Failure(f"the devices still change after {ROUNDS_MAX} syncs: {results[0]} {results[-1]}")
