"""Goes through the rows of Shelby and SPVideoReel (SH1 to SH15, SR1 to SR6) on two devices.

The expectations are computed here: from the actions of the run, from what the simulated system shows through its own
API, and from the rules of the original apps. None of them is computed by Tapedeck.
"""

import collections
import datetime
import hashlib
import json
import math
import select
import signal
import time

from shelby_remote import SECRETS, Ledger, RemoteV1, RemoteV2, seconds_of
from stage import Device, Failure, Kills, Service

ROWS = [f"SH{number}" for number in range(1, 16)] + [f"SR{number}" for number in range(1, 7)]
# The videos that the actions are about; few, so that actions on both devices concern the same video.
VIDEOS = 12
# The videos of the fixed cases, which no random action is about.
CASE_VIDEOS = 8
INTERVAL_VIDEOS = 2
# The number of random actions that each kill adds to a run.
ACTIONS_PER_KILL = 2
# The limit on the number of syncs of each device until nothing changes any more.
ROUNDS_MAX = 40
# The time for which the other users act before the faults end, by the simulator's clock.
OTHERS_MILLISECONDS = 60_000
# The states in which an intent stays until the user decides, and the reasons for which it waits: the remote has no row
# for it, or it is older than the lease of its device, so that another device may be delivering it.
ENDED = ("refused", "unknown")
LASTING = ("notThere", "leased")
POLL_SECONDS = 0.05
# The tolerance for the duration of a process when positions are compared.
COMMAND_SECONDS_EXTRA = 30
PAGE_ROWS = 9
# The events that change whether a video is liked or marked.
LIKES = ("LikeToggled",)
MARKS = ("WatchLaterToggled", "PlaybackProgressed")
LOGINS_MAX = 30
WATCH_SECONDS_MAX = 20
DURATION = 213
FINISHED_SECONDS = 5
WATCH_LATER_END = 0.75
EXTRACTION_SECONDS = 300
CHARACTERS_MAX = 140
DAY = 86_400


def iso(seconds):
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


REMOTES = {"v1": RemoteV1, "v2": RemoteV2}


class Viewing:
    """One session of a player with a video; `reports` are (time, position)."""

    def __init__(self, video, name, reports=()):
        self.video, self.name, self.reports = video, name, list(reports)

    @property
    def end(self):
        """The time and the position of the last report."""
        return self.reports[-1]

    @property
    def is_finished(self):
        return self.end[1] >= DURATION - FINISHED_SECONDS


class Expectation:
    """The actions of both devices, and the states that follow from them."""

    def __init__(self):
        self.toggles = {"LikeToggled": [], "WatchLaterToggled": []}
        self.viewings = []
        self.intervals = []
        self.comments = []
        self.shares = []
        self.visits = []
        self.extractions = []
        self.checks = []
        self.queue = []
        self.contacts = []
        # The intents of each type: the event and the video.
        self.intents = {}

    def toggled(self, kind, video):
        """The last state that the user chose, or None."""
        states = [on for _, name, on, _ in sorted(self.toggles[kind]) if name == video]
        return states[-1] if states else None

    def watch_later(self, video, remote):
        """Whether the video is marked: by a toggle, until a later viewing passes 75 % (B 1.8)."""
        steps = [(0, remote)] + [(at, on) for at, name, on, _ in self.toggles["WatchLaterToggled"] if name == video]
        for viewing in self.viewings:
            if viewing.video == video:
                steps += [(at, False) for at, position in viewing.reports if position > WATCH_LATER_END * DURATION]
        return sorted(steps, key=lambda step: step[0])[-1][1]

    def last_viewing(self, video):
        own = [viewing for viewing in self.viewings if viewing.video == video]
        return max(own, key=lambda viewing: viewing.end) if own else None

    def final_queue(self):
        """The queue after all changes: a queued video keeps its place, and `next` moves to the front."""
        videos = []
        for change, video in self.queue:
            if change == "add" and video not in videos:
                videos.append(video)
            elif change == "next":
                videos = [video] + [name for name in videos if name != video]
            elif change == "remove":
                videos = [name for name in videos if name != video]
        return videos


class Shelby:
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
        if len(rows) < VIDEOS + CASE_VIDEOS:
            raise Failure(f"the timeline has only {len(rows)} videos after the first sync")
        self.random.shuffle(rows)
        self.marked = {row["key"] for row in rows if row["watchLater"]}
        # Videos without a mark first, for the fixed cases.
        keys = [row["key"] for row in sorted(rows, key=lambda row: row["watchLater"])]
        self.case_videos, keys = keys[:CASE_VIDEOS], keys[CASE_VIDEOS:]
        # Videos with intervals have no viewings, so that no report covers the same part of the video.
        self.interval_videos, keys = keys[:INTERVAL_VIDEOS], keys[INTERVAL_VIDEOS:]
        self.videos = self.random.sample(keys, VIDEOS - INTERVAL_VIDEOS)
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
        self.shared(device.do(*words, records=["VideoShared"] * len(destinations)), video, destinations, text, recipient)

    def shared(self, ids, video, destinations, text, recipient):
        """Notes a share, which is one intent for each destination, in the order of their names."""
        self.expected.shares.append((time.time(), video, destinations, text, recipient))
        for event, destination in zip(ids, sorted(destinations)):
            self.intend([event], "VideoShared", video, text=text, destination=destination)

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

    # Fixed cases, before everything settles

    def effects(self):
        return len(self.simulator.request("GET", "/_simulator/effects"))

    def report_positions(self, device, video, positions):
        """Reports the positions of a new viewing."""
        viewing = Viewing(video, f"viewing-{self.unique()}")
        self.expected.viewings.append(viewing)
        self.continue_viewing(device, viewing, positions)
        return viewing

    def continue_viewing(self, device, viewing, positions):
        ids = device.append([{"type": "PlaybackProgressed", "payload": {
            "video": viewing.video, "viewing": viewing.name, "positionSeconds": position, "durationSeconds": DURATION,
            "playedSeconds": position}} for position in positions])
        self.intend(ids, "PlaybackProgressed", viewing.video)
        viewing.reports += [(time.time(), position) for position in positions]

    def try_cases(self):
        """Tries the cases that need an order of their own; no command is killed."""
        self.try_watch_later()
        self.try_share_texts()
        self.try_extractions()
        self.try_downloads()
        self.try_queue()
        self.try_network()
        self.try_hand_off()
        self.try_search()
        self.try_wrong_clock()

    def try_watch_later(self):
        """B 1.8: a mark ends at 75 %; in 2012, only if the video was marked before the viewing."""
        before, during = self.case_videos[:2]
        self.toggle(self.phone, before, "WatchLaterToggled", True)
        self.report_positions(self.phone, before, [0, 100, 190])
        viewing = self.report_positions(self.phone, during, [0, 100])
        self.toggle(self.phone, during, "WatchLaterToggled", True)
        self.continue_viewing(self.phone, viewing, [190])
        for rule, expected in (("default", []), ("2012", [during])):
            rows = self.phone.pages("videos", "query", "watch-later", "--rule", rule)
            self.report.equal("SH7", f"marks after 75 % by the rule {rule}", expected,
                              [row["key"] for row in rows if row["key"] in (before, during)])

    def try_share_texts(self):
        """SH9: a text for Twitter has at most 140 characters, and a name there has one "@"."""
        video = self.case_videos[2]
        for text, code in (("x" * (CHARACTERS_MAX + 1), 64), ("é" * CHARACTERS_MAX, 0), (" ", 64)):
            result = self.phone.run("do", "share", video, "--to", "twitter", "--text", text, codes=(0, 64))
            self.report.equal("SH9", f"exit code of a share with {len(text)} characters", code, result.code)
            if result.code == 0:
                self.shared(Device.ids(result), video, ["twitter"], text, None)
        shown = self.phone.ask("share-text", video, "--to", "twitter")
        details = self.phone.ask("video", video)
        self.report.true("SH9", "the proposed text has at most 140 characters", len(shown["text"]) <= CHARACTERS_MAX)
        self.report.true("SH9", f"the proposed text {shown['text']} names the sharer once",
                         shown["text"].count(details["sharer"] or "") >= 1 and "@@" not in shown["text"])

    def try_extractions(self):
        """SR2, SR3, SR4, SH10: one extraction at a time; a URL is valid for 300 seconds."""
        current, after, third = self.case_videos[3:6]
        words = ["extraction-plan", current, after, third, self.case_videos[6]]
        plan = self.phone.ask(*words)
        self.report.equal("SR2", "the first extraction", current, plan["run"])
        for kind, count in (("phone", 1), ("tablet", 2)):
            waiting = self.phone.ask(*words, "--kind", kind)["waiting"]
            self.report.equal("SR2", f"the next extractions on a {kind}", [after, third][:count], waiting)
        now = time.time()
        for seconds, cancel in ((14, None), (16, {"video": current, "reason": "timedOut"})):
            plan = self.phone.ask(*words, "--running", current, "--since", iso(now - seconds), "--now", iso(now))
            self.report.equal("SR2", f"the running extraction after {seconds} seconds", cancel, plan["cancel"])
        follower = self.stage.begin(
            ["log", "--follow", "--after", str(self.phone.head()), "--type", "VideoExtracted", "--tag", f"video/{current}",
             "--store", "phone", "--json"])
        for video in (after, current):
            payload = {"video": video, "url": f"https://cdn.example.org/{self.unique()}.mp4", "extractedAt": iso(now)}
            self.phone.append([{"type": "VideoExtracted", "payload": payload}])
            self.expected.extractions.append((video, payload["url"], now))
        ready, _, _ = select.select([follower.stdout], [], [], WATCH_SECONDS_MAX)
        line = json.loads(follower.stdout.readline()) if ready else {"payload": {"video": None}}
        self.report.equal("SR4", "the player of a video receives only its URL", current, line["payload"]["video"])
        follower.send_signal(signal.SIGINT)
        self.stage.finish(["log", "--follow"], follower)
        for seconds, expected in ((EXTRACTION_SECONDS - 1, third), (EXTRACTION_SECONDS + 1, current)):
            plan = self.phone.ask(*words, "--kind", "tablet", "--now", iso(now + seconds))
            self.report.equal("SR3", f"the extraction to run {seconds} seconds after two URLs were found", expected, plan["run"])

    def try_downloads(self):
        """SR5: a video on disk needs no extraction; watched videos are deleted first."""
        self.report.waits("SR5", "moving the bytes of a download needs the media part")
        unwatched, watched = self.case_videos[6], self.case_videos[7]
        files = []
        for number, video in enumerate((unwatched, watched)):
            name = self.stage.place / f"clip-{number}"
            name.write_bytes(bytes([number]) * 1000)
            files.append(str(name))
        blobs = [row["blob"] for row in self.phone.run("blob", "add", *files).document["blobs"]]
        self.report.equal("SR5", "names of the files", [hashlib.sha256(bytes([n]) * 1000).hexdigest() for n in (0, 1)], blobs)
        self.phone.append([
            {"type": "DownloadCompleted", "payload": {"device": "phone", "video": video, "blob": blob, "bytes": 1000}}
            for video, blob in zip((unwatched, watched), blobs)])
        self.report_positions(self.phone, watched, [0, 100, DURATION])
        plan = self.phone.ask("extraction-plan", unwatched, "--device", "phone")
        self.report.equal("SR5", "a downloaded video is not extracted", [unwatched, "onDisk"],
                          [plan["skipped"][0]["video"], plan["skipped"][0]["reason"]] if plan["skipped"] else None)
        found = self.phone.ask("downloads", "--device", "phone", "--budget", "1000")
        self.report.equal("SR5", "the video to delete", [watched], found["evictions"])

    def try_queue(self):
        """SR6: at the end of a video, the next one of the queue plays; a finished video can be played again."""
        video = self.case_videos[7]
        entry = self.phone.ask("playback", video)["videos"][0]
        self.report.equal("SR6", "state at the end", ["finished", 0], [entry["state"], entry["resumeSeconds"]])
        self.report_positions(self.phone, video, [0, 60])
        entry = self.phone.ask("playback", video)["videos"][0]
        self.report.equal("SR6", "state of a video that is played again", ["inProgress", 60, True],
                          [entry["state"], entry["resumeSeconds"], entry["finishedAt"] is not None])

    def try_network(self):
        """SH15: offline, nothing is sent; on a metered network, facts are read and media wait."""
        self.report.waits("SH15", "Shelby has no upload, so that no intent waits for an unmetered network")
        self.sync_server(self.phone)
        self.phone.run("network", "offline")
        before = self.effects()
        self.report.equal("SH15", "exit code of a sync while offline", 7, self.sync_remote(self.phone).code)
        self.report.equal("SH15", "writes while offline", before, self.effects())
        self.phone.run("network", "metered")
        # 7 means that the simulated system has failed, which the network does not decide.
        result = self.sync_remote(self.phone)
        self.report.true("SH15", "a sync on a metered network is not refused as offline", result.error != "offline")
        first, second = self.interval_videos
        plan = self.phone.ask("extraction-plan", first, second)
        self.report.equal("SH15", "extractions on a metered network", [first, [second]],
                          [plan["run"], [row["video"] for row in plan["skipped"] if row["reason"] == "metered"]])
        self.phone.run("network", "online")

    def try_hand_off(self):
        """SH13: the tablet continues at the position of the phone."""
        video = self.case_videos[3]
        self.phone.append([{"type": "NowPlayingChanged", "payload": {
            "device": "phone", "video": video, "viewing": "hand-off", "positionSeconds": 30, "isPlaying": True}}])
        started = time.time()
        self.phone.do("hand-off", "phone", "tablet", records=["NowPlayingChanged"] * 2)
        self.handed = (video, 30, 30 + time.time() - started + COMMAND_SECONDS_EXTRA)

    def try_search(self):
        """SH8: a comment is found without accents and by the beginning of its last word."""
        self.searched = (self.case_videos[4], "Zoë found the naïve café brilliant")
        video, text = self.searched
        ids = self.phone.append([{"type": "CommentPosted", "payload": {"video": video, "text": text, "author": "ada"}}])
        self.expected.comments.append((video, text))
        self.intend(ids, "CommentPosted", video, text=text)

    def try_wrong_clock(self):
        """SH12: an event from a clock that is two days ahead counts from the time at which the server received it."""
        video = self.case_videos[5]
        line = {"type": "PlaybackProgressed", "at": iso(time.time() + 2 * DAY), "payload": {
            "video": video, "viewing": "future", "positionSeconds": 50, "durationSeconds": DURATION}}
        self.future = self.phone.append([line])[0]
        self.expected.viewings.append(Viewing(video, "future", [(time.time(), 50)]))

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
        # A usual sync reads only the newest pages, and misses new comments on older entries.
        self.phone.run("sync", "home", "--refresh", codes=(0, 2))
        self.sync_until_quiet()
        self.remote.sign_in()
        self.broadcasts = self.remote.broadcasts()
        self.ledger = Ledger(self.simulator, self.remote.account)
        # The marks of a removed broadcast end with it, so nothing is expected of such a video.
        self.removed = {event["payload"]["video"] for event in self.phone.log("--type", "BroadcastReceived")
                        if event["payload"].get("removed")}
        rows = self.phone.pages("items", "outbox")
        self.undelivered = {row["event"]: row["delivery"] for row in rows}

    def sync_until_quiet(self):
        for _ in range(ROUNDS_MAX):
            results = [
                sync(device) for device in self.devices for sync in (self.sync_server, self.sync_remote, self.sync_server)]
            if all(result.code != 7 and not result.document["pushed"] and not result.document["pulled"] for result in results):
                return
        raise Failure(f"the devices still change after {ROUNDS_MAX} syncs: {results[0]} {results[-1]}")

    # The ledger

    def compare_ledger(self):
        """Every intent took effect exactly once, or the outbox states why not; no effect lacks an intent."""
        self.report.equal("SH1", "requests that the API does not define", [], self.ledger.violations)
        for event, delivery in self.undelivered.items():
            self.report.true("SH9", f"the outbox gives a reason for {event}: {delivery}",
                             delivery["state"] in ENDED or delivery["reason"] in LASTING)
        texts = {"CommentPosted": ("SH2", "comment"), "VideoShared": ("SH9", "share"), "VideoWatched": ("SH12", "watched")}
        if self.api == "v2":
            del texts["CommentPosted"], texts["VideoWatched"]
        counts = collections.Counter()
        for effect in self.ledger.of("comment", "share", "watched"):
            detail = effect["detail"].split(",")[0].split(" ")[0] if effect["kind"] == "share" else ""
            for name in (effect["detail"].split(" ")[0].split(",")
                         if effect["kind"] == "share" and self.api == "v2" else [detail]):
                counts[effect["kind"], effect["text"], name] += 1
        for event, intent in self.expected.intents.items():
            if intent["type"] not in texts:
                continue
            row, kind = texts[intent["type"]]
            actual = counts.pop((kind, intent["text"], intent.get("destination", "")), 0)
            self.report.true(row, f"{kind} {intent['text']} ({event}) took effect {actual} times, "
                             f"{self.undelivered.get(event)}", actual in self.allowed(event))
        self.report.equal("SH9", "effects without an intent", {}, {" ".join(key): n for key, n in counts.items()})
        if self.api == "v1":
            visits = [event for event, intent in self.expected.intents.items() if intent["type"] == "VisitStarted"]
            sure = sum(self.allowed(event) == (1,) for event in visits)
            unsure = sum(self.allowed(event) == (0, 1) for event in visits)
            self.report.true("SH12", f"{len(self.ledger.of('visit'))} visits, expected {sure} to {sure + unsure}",
                             sure <= len(self.ledger.of("visit")) <= sure + unsure)
        (self.compare_likes if self.api == "v1" else self.compare_flags)()

    def allowed(self, event):
        """The possible numbers of effects of an intent."""
        delivery = self.undelivered.get(event)
        return (1,) if delivery is None else (0, 1) if delivery["state"] == "unknown" else (0,)

    def is_settled(self, types, video):
        """Whether the outbox has no intent of these types for a video, and the remote removed none of its broadcasts."""
        waiting = [self.expected.intents.get(event, {}) for event in self.undelivered]
        return video not in self.removed and not any(
            intent.get("type") in types and intent["video"] == video for intent in waiting)

    def compare_likes(self):
        """v1: likes and unlikes of a video alternate, and the last one is the user's choice."""
        videos, states = {}, collections.defaultdict(list)
        for effect in self.ledger.of("like", "unlike"):
            frame = effect["entity"]
            videos[frame] = videos.get(frame) or self.remote.video_of(frame)
            states[videos[frame]].append(effect["kind"] == "like")
        chosen = {video for _, video, _, _ in self.expected.toggles["LikeToggled"]}
        self.report.equal("SH7", "liked or unliked videos without an intent", [], sorted(set(states) - chosen))
        for video in sorted(chosen):
            steps = states[video]
            self.report.equal("SH7", f"likes of {video} alternate", [n % 2 == 0 for n in range(len(steps))], steps)
            if self.is_settled(LIKES, video):
                self.report.equal("SH7", f"{video} is liked at the remote", self.expected.toggled("LikeToggled", video),
                                  bool(steps) and steps[-1])

    def compare_flags(self):
        """v2: each flag has the user's choice on all broadcasts of the video, or on one of them if it is set."""
        groups = collections.defaultdict(list)
        for broadcast in self.broadcasts:
            groups[broadcast.key].append(broadcast)
        self.compare_flag_intents()
        for video, group in groups.items():
            liked = self.expected.toggled("LikeToggled", video)
            if liked is not None and self.is_settled(LIKES, video):
                self.report.equal("SH7", f"{video} is liked at the remote", liked, any(b.is_liked for b in group))
            marked = self.expected.watch_later(video, video in self.marked)
            if video in self.touched() and self.is_settled(MARKS, video):
                self.report.equal("SH7", f"{video} is marked at the remote", marked, any(b.is_marked for b in group))

    def compare_flag_intents(self):
        """v2: every flag that was set belongs to an intent for the same video."""
        videos = {event["payload"]["broadcast"]: event["payload"]["video"]
                  for event in self.phone.log("--type", "BroadcastReceived")}
        types = {
            "liked_by_owner": ["LikeToggled"], "owner_watch_later": ["WatchLaterToggled", "PlaybackProgressed"],
            "watched_by_owner": ["VideoWatched"],
        }
        for effect in self.ledger.of("flag"):
            video = videos.get(effect["entity"])
            found = [intent for intent in self.expected.intents.values()
                     if intent["video"] == video and intent["type"] in types[effect["text"].split("=")[0]]]
            self.report.true("SH7", f"{effect['text']} of {video} has an intent", found)

    def touched(self):
        """The videos whose watch-later marks the run may have changed."""
        return ({video for _, video, _, _ in self.expected.toggles["WatchLaterToggled"]}
                | {viewing.video for viewing in self.expected.viewings})

    # Both devices

    def compare_devices(self):
        """Both stores give the same answers, and have the same projections."""
        now = iso(time.time())
        videos = sorted(self.videos + self.case_videos + self.interval_videos)
        queries = {
            "SH2": [["videos"], ["duplicates"], *(["comments", video] for video in self.random.sample(videos, 3))],
            "SH3": [["playability", "--now", now]], "SH7": [["watch-later"], ["list", "watch-later"], ["list", "likes"]],
            "SH8": [["list", "timeline"], ["list", "favourites"], ["search", "the"]], "SH9": [["shares"], ["recipients"]],
            "SH10": [["extractions", *videos, "--now", now]], "SH11": [["accounts"]], "SH12": [["statistics", "--now", now]],
            "SH13": [["now-playing", "--now", now]], "SR1": [["list", "stream"], ["list", "personal-roll"]],
            "SR3": [["playback"], ["playback", *videos]], "SR5": [["downloads", "--device", "phone"]], "SR6": [["queue"]],
        }
        for row, words in queries.items():
            for query in words:
                self.report.equal(row, f"query {' '.join(query)[:60]} on the tablet, as on the phone", *self.both("query", *query))
        digests = []
        for device, result, checked in zip(self.devices, self.both("replay", "--verify"), self.both("verify")):
            self.report.equal("SH1", f"replay --verify on the {device.name}", [], result["differences"])
            self.report.equal("SH1", f"frozen keys on the {device.name}", [], result["frozen"])
            self.report.true("SH1", f"verify on the {device.name}", checked["intact"])
            # Tables for other rules exist only on the device that asked for them.
            digests.append({projection["name"]: projection["digest"] for projection in result["projections"]
                            if "parameters" not in projection})
        differing = sorted(name for name in digests[0] if digests[0][name] != digests[1].get(name))
        self.report.equal("SH1", "projections that differ on the tablet", [], differing)

    def both(self, *words):
        """Runs a command on both devices at the same time, and returns both documents."""
        all = [[*words, "--store", device.name, "--json"] for device in self.devices]
        started = [self.stage.begin(words) for words in all]
        return [self.stage.finish(words, process).document for words, process in zip(all, started)]

    # Lists

    def compare_lists(self):
        rows = {row["key"]: row for row in self.phone.pages("videos", "query", "videos")}
        newest = {row["key"]: row for row in self.phone.pages("videos", "query", "videos", "--winner", "newest")}
        timeline = self.phone.pages("videos", "query", "list", "timeline")
        groups = collections.defaultdict(list)
        for broadcast in sorted(self.broadcasts, key=lambda b: b.at):
            groups[broadcast.key].append(broadcast)
        missing, extra = sorted(set(groups) - set(rows)), sorted(set(rows) - set(groups))
        self.report.equal("SH1", "videos of the remote that the list lacks", [], missing)
        if self.api == "v2":
            self.report.equal("SH6", "videos that the remote no longer has", [], extra)
        for key, group in groups.items():
            row = rows.get(key)
            if row is None:
                continue
            # A v1 dashboard that loses an entry keeps no trace of it, so the store may know more broadcasts.
            if self.api == "v2" or row["broadcasts"] == len(group):
                self.report.equal("SH2", f"broadcasts and time of {key}", [len(group), iso(group[-1].at)],
                                  [row["broadcasts"], row["newestAt"]])
                if len(group) == 1 or group[0].at < group[1].at:
                    self.report.equal("SH2", f"sharer of {key}", group[0].sharer, row["sharer"])
                if len(group) == 1 or group[-1].at > group[-2].at:
                    self.report.equal("SH2", f"sharer of {key} by the rule of 2013", group[-1].sharer, newest[key]["sharer"])
        for video in sorted({video for video, _ in self.expected.comments}):
            texts = [row["text"] for row in self.phone.pages("comments", "query", "comments", video)]
            own = sorted(text for name, text in self.expected.comments if name == video)
            self.report.equal("SH2", f"own comments on {video}", own, sorted(text for text in texts if text in own))
            theirs = collections.Counter(text for b in groups[video] for text in set(b.texts) if text not in own)
            lacking = theirs - collections.Counter(texts)
            self.report.true("SH2", f"comments of the sharers of {video}: {dict(lacking)} are missing",
                             not set(theirs) - set(texts))
        times = [row["newestAt"] for row in timeline]
        self.report.equal("SH8", "order of the timeline", sorted(times, reverse=True), times)
        order = [row["key"] for row in timeline]
        self.compare_flagged_lists(order)
        self.compare_newest(order)
        self.compare_search(rows)
        self.compare_watch()
        self.compare_news(rows)
        self.compare_pages(order)

    def compare_flagged_lists(self, order):
        favourites = [row["key"] for row in self.phone.pages("videos", "query", "list", "favourites")]
        likes = {row["key"] for row in self.phone.pages("videos", "query", "list", "likes")}
        marks = {row["key"] for row in self.phone.pages("videos", "query", "watch-later")}
        listed = [row["key"] for row in self.phone.pages("videos", "query", "list", "watch-later")]
        for name, keys in (("favourites", favourites), ("watch-later", listed)):
            # The user's own marks on videos that are not shared come last.
            shared = [key for key in order if key in keys]
            self.report.equal("SH8", f"{name} in the order of the timeline", shared, keys[:len(shared)])
        for video in self.videos + self.case_videos:
            liked = bool(self.expected.toggled("LikeToggled", video))
            if self.is_settled(LIKES, video):
                self.report.equal("SH7", f"{video} is in likes", liked, video in likes)
                self.report.equal("SH8", f"{video} is in favourites", liked, video in favourites)
            if video not in self.removed:
                marked = self.expected.watch_later(video, video in self.marked)
                self.report.equal("SH7", f"{video} is in watch-later", [marked] * 2, [video in marks, video in listed])
        if self.api == "v1":
            roll = self.phone.pages("videos", "query", "list", "personal-roll")
            self.report.equal("SR1", "videos of the personal roll", sorted({key for _, key in self.remote.own_roll()}),
                              sorted({row["key"] for row in roll}))

    def facts(self, until=None):
        """The broadcasts that the remote reported, folded from the log: id -> (key, time)."""
        found = {}
        for event in self.phone.log("--type", "BroadcastReceived"):
            if until is None or event["position"] <= until:
                payload = event["payload"]
                if payload.get("removed"):
                    found.pop(payload["broadcast"], None)
                elif "createdAt" in payload:
                    found[payload["broadcast"]] = (payload["video"], seconds_of(payload["createdAt"]))
        return found

    def compare_newest(self, order):
        """SH4: a limit keeps the newest broadcasts of the list, and deletes nothing."""
        known = sorted(self.facts().values(), key=lambda fact: -fact[1])
        for count in (5, 20):
            # Broadcasts of the same second have no order.
            while count < len(known) and known[count - 1][1] == known[count][1]:
                count += 1
            rows = self.phone.pages("videos", "query", "list", "timeline", "--newest", str(count))
            self.report.equal("SH4", f"videos of the {count} newest broadcasts", sorted({key for key, _ in known[:count]}),
                              sorted(row["key"] for row in rows))
        self.report.equal("SH4", "videos without a limit", sorted({key for key, _ in known}), sorted(order))

    def compare_search(self, rows):
        video, text = self.searched
        words = (["Zoe naive cafe"], ["ZOË FOUND"], ["cafe brill"])
        for query in words:
            hits = self.phone.pages("hits", "query", "search", *query)
            self.report.true("SH8", f"search for {query[0]}", any(hit["about"] == f"video/{video}" for hit in hits))
        self.report.equal("SH8", "search for a word that is nowhere", [], self.phone.pages("hits", "query", "search", "xyzzy"))
        titled = [row for row in rows.values() if row["title"]]
        for row in self.random.sample(titled, min(3, len(titled))):
            hits = self.phone.pages("hits", "query", "search", row["title"], "--in", "videos")
            self.report.true("SH8", f"search for the title {row['title']}",
                             any(hit["id"] in (row["key"], f"video/{row['key']}") for hit in hits))

    def compare_watch(self):
        """SH1, SH6: the changes that a watched list received lead to the list."""
        expected = self.tablet.ask("list", "timeline", "--limit", "500")["videos"]
        path, deadline = self.stage.place / "watch", time.monotonic() + WATCH_SECONDS_MAX
        while (entries := self.applied(path)) != expected and time.monotonic() < deadline:
            if self.watch.poll() is not None:
                break
            time.sleep(POLL_SECONDS)
        self.report.equal("SH6", "the list after all changes", expected, entries)
        self.watch.send_signal(signal.SIGINT)
        self.watch.wait(timeout=WATCH_SECONDS_MAX)

    @staticmethod
    def applied(path):
        """The list that results from the changes in a file."""
        entries = []
        for line in path.read_bytes().split(b"\n")[:-1]:
            for change in json.loads(line).get("changes", []):
                kind = change["change"]
                if kind == "inserted":
                    entries.insert(change["at"], change["entry"])
                elif kind == "removed":
                    del entries[change["at"]]
                elif kind == "updated":
                    entries[change["at"]] = change["entry"]
                else:
                    entries.insert(change["to"], entries.pop(change["from"]))
                    if change.get("entry"):
                        entries[change["to"]] = change["entry"]
        return entries

    def compare_news(self, rows):
        """SH5: the number of videos that are new since a position, and the notice."""
        before = {row["key"] for row in self.phone.pages("videos", "query", "videos", "--as-of", str(self.news_position))}
        news = self.phone.ask("news", "--since", str(self.news_position))
        self.report.equal("SH5", "new videos", len(set(rows) - before), news["newVideos"])
        parts = [f"{count} new {name}{'s' if count > 1 else ''}"
                 for count, name in ((news["newVideos"], "video"), (news["newComments"], "comment")) if count]
        self.report.equal("SH5", "the notice", " & ".join(parts) or None, news["text"])
        self.phone.ask("news", "--seen")
        self.report.equal("SH5", "news after --seen", None, self.phone.ask("news")["text"])

    def compare_pages(self, order):
        """SR1: pages of any size are the same list; a list can start at any position."""
        pages = [row["key"] for row in self.phone.pages("videos", "query", "list", "timeline", limit=PAGE_ROWS)]
        self.report.equal("SR1", f"pages of {PAGE_ROWS} videos", order, pages)
        rows = self.phone.ask("list", "timeline", "--from", "5", "--limit", "4")["videos"]
        self.report.equal("SR1", "four videos from the sixth", order[5:9], [row["key"] for row in rows])
        self.report.waits("SR1", "channel dashboards and other rolls need lists on demand (sync --list)")

    # Players and statistics

    def compare_players(self):
        self.compare_playback()
        self.compare_statistics()
        self.compare_checks()
        self.compare_shares()
        queue = [row["video"] for row in self.tablet.pages("videos", "query", "queue")]
        self.report.equal("SR6", "the queue", self.expected.final_queue(), queue)
        video, low, high = self.handed
        device = next((row for row in self.tablet.ask("now-playing")["devices"] if row["device"] == "tablet"), {})
        self.report.equal("SH13", "the tablet plays the video that it was handed", [video, True],
                          [device.get("video"), device.get("playing")])
        self.report.true("SH13", f"the tablet continues at {device.get('positionSeconds')}, between {low} and {high}",
                         low <= device.get("positionSeconds", -1) <= high)
        for device in self.devices:
            found = device.run("explain", self.future).document
            self.report.true("SH12", f"an event from the future counts from {found['effectiveAt']} on the {device.name}",
                             seconds_of(found["effectiveAt"]) < time.time() + 60)

    def compare_playback(self):
        """SR3, SR6: both devices resume at the end of the last viewing, unless it reached the end of the video."""
        videos = sorted({viewing.video for viewing in self.expected.viewings})
        expected = {}
        for video in videos:
            viewing = self.expected.last_viewing(video)
            expected[video] = ["finished", 0] if viewing.is_finished else ["inProgress", viewing.end[1]]
        for device in self.devices:
            rows = device.ask("playback", *videos)["videos"]
            self.report.each("SR3", f"where a video resumes on the {device.name}", expected,
                             {row["video"]: [row["state"], row["resumeSeconds"]] for row in rows})

    def compare_statistics(self):
        """SH12: plays, watched seconds, completions and shares, in total."""
        viewings = self.expected.viewings
        total = self.phone.ask("statistics")["total"]
        watched = sum(viewing.end[1] - viewing.reports[0][1] for viewing in viewings)
        watched += sum(seconds for _, seconds in self.expected.intervals)
        videos = ({viewing.video for viewing in viewings} | {video for video, _ in self.expected.intervals}
                  | {share[1] for share in self.expected.shares})
        expected = {
            "plays": len(viewings), "watchedSeconds": watched, "completions": sum(v.is_finished for v in viewings),
            "shares": sum(len(share[2]) for share in self.expected.shares), "videos": len(videos),
        }
        for name, value in expected.items():
            self.report.equal("SH12", name, round(value, 3), round(total[name], 3))

    def compare_checks(self):
        """SH3, SH10: a failed check changes no known result; a failed extraction makes no URL invalid."""
        states, urls = {}, {}
        for video in self.videos:
            outcomes = [outcome for name, outcome in self.expected.checks if name == video]
            known = [outcome for outcome in outcomes if outcome != "failed"]
            states[video] = known[-1] if known else "failed" if outcomes else "unknown"
            found = [url for name, url, _ in self.expected.extractions if name == video]
            valid = [url for url in found if url]
            urls[video] = ["good", valid[-1]] if valid else ["failed" if found else "unknown", None]
        rows = self.tablet.ask("playability", *self.videos)["videos"]
        self.report.each("SH3", "playability", states, {row["video"]: row["state"] for row in rows})
        rows = self.tablet.ask("extractions", *self.videos, "--window", str(DAY))["videos"]
        self.report.each("SH10", "URL", urls, {row["video"]: [row["state"], row["url"]] for row in rows})

    def compare_shares(self):
        """SH9: one share for each destination, and the recipients, most recent first."""
        rows = self.tablet.pages("shares", "query", "shares")
        expected = sorted((video, text, name) for _, video, names, text, _ in self.expected.shares for name in names)
        actual = sorted((row["video"], row["text"], name) for row in rows for name in row["destinations"])
        self.report.equal("SH9", "shares", expected, actual)
        recent = []
        for share in reversed(self.expected.shares):
            if share[4] and share[4] not in recent:
                recent.append(share[4])
        found = [row["address"] for row in self.tablet.pages("recipients", "query", "recipients")]
        self.report.equal("SH9", "recipients", recent, found)

    # Fixed cases at the end

    def try_last_cases(self):
        if self.api == "v1":
            self.try_comments_of_others()
        self.try_pictures()
        self.try_local_rules()
        self.try_accounts()

    def try_comments_of_others(self):
        """SH5: a comment of another user is news, and names no new video."""
        head = self.phone.head()
        conversation = next(b.conversation for b in self.broadcasts if b.conversation)
        for number in range(2):
            self.remote.comment_as_other(conversation, f"what {number}")
        self.phone.run("sync", "home", "--refresh", codes=(0, 2))
        news = self.phone.ask("news", "--since", str(head))
        self.report.equal("SH5", "news of two comments", [0, 2, "2 new comments"],
                          [news["newVideos"], news["newComments"], news["text"]])

    def try_pictures(self):
        """SH14: equal pictures are one file, and the least recently used ones are deleted first."""
        self.report.waits("SH14", "downloading the pictures needs the media part")
        missing = [row["key"] for row in self.phone.ask("list", "timeline", "--limit", "20")["videos"] if not row["thumbnailUrl"]]
        self.report.equal("SH14", "videos without the address of a picture", [], missing)
        for name, data in (("one", b"a" * 100), ("two", b"a" * 100), ("three", b"b" * 100)):
            (self.stage.place / name).write_bytes(data)
            self.phone.run("image", "keep", f"http://img.example.org/{name}.jpg", str(self.stage.place / name))
        images = self.phone.run("image", "list").document["images"]
        self.report.equal("SH14", "files of three pictures, two of which are equal", 2, len({row["blob"] for row in images}))
        self.phone.run("image", "evict", "--budget", "100")
        images = self.phone.run("image", "list").document["images"]
        self.report.equal("SH14", "the picture that stays", ["http://img.example.org/three.jpg"], [row["url"] for row in images])

    def try_local_rules(self):
        """SH3: rules that need no request decide without one, and only once."""
        self.report.waits("SH3", "asking the providers needs the media part")
        self.phone.run("do", "check", "--due")
        self.report.equal("SH3", "results of a second check", 0, self.phone.run("do", "check", "--due").document["recorded"])
        rows = self.phone.pages("videos", "query", "playability", "--state", "playable")
        listed = self.phone.pages("videos", "query", "list", "timeline", "--playable")
        playable = {row["video"] for row in rows}
        order = [row["key"] for row in self.phone.pages("videos", "query", "list", "timeline")]
        self.report.equal("SH3", "playable videos of the timeline", [key for key in order if key in playable],
                          [row["key"] for row in listed])

    def try_accounts(self):
        """SH11: no secret is in an event or on the server; another account is refused; erasing leaves nothing."""
        accounts = self.tablet.ask("accounts")["accounts"]
        self.report.equal("SH11", "accounts", [["shelby", "ada", True, ["facebook", "twitter"]]],
                          [[a["system"], a["nickname"], a["isSignedIn"], sorted(a["services"])] for a in accounts])
        for folder in ("phone", "tablet", "server"):
            for path in sorted((self.stage.place / folder).rglob("*")):
                if path.is_file() and "logins" not in path.parts:
                    data = path.read_bytes()
                    self.report.equal("SH11", f"secrets in {folder}/{path.name}", [],
                                      [secret for secret in SECRETS if secret.encode() in data])
        if self.api == "v1":
            (self.stage.place / "password").write_text("password 1\n")
            result = self.phone.run("login", "home", "--user", "user1@example.org", "--password-file", "password",
                                    codes=(0, 3, 7))
            self.report.equal("SH11", "exit code of a login with another account", 3, result.code)
        self.phone.run("logout", "home")
        self.report.equal("SH11", "logins after a logout", [], [
            path.name for path in (self.stage.place / "phone" / "logins").glob("*.json")])
        self.phone.run("erase", "--yes")
        left = [path.name for path in (self.stage.place / "phone").rglob("*")] if (self.stage.place / "phone").exists() else []
        self.report.equal("SH11", "files of an erased store", [], left)
        demo = Device(self.stage, "demo", self.kills, "--demo")
        result = demo.run("sync", self.server.url, "--token-file", self.server.document["tokenFile"], codes=(0, 64))
        self.report.equal("SH12", "exit code of a sync of the demo", 64, result.code)
