"""Fixed cases, which need an order of their own or would disturb the random actions."""

import hashlib
import json
import select
import signal
import time

from shelby_remote import SECRETS
from shelby_rules import CHARACTERS_MAX, DAY, DURATION, EXTRACTION_SECONDS, Viewing, iso
from stage import Device

WATCH_SECONDS_MAX = 20
# The tolerance for the durations of processes when positions are compared.
COMMAND_SECONDS_EXTRA = 30


class Cases:
    """The fixed cases of a run; no command is killed."""

    # Before everything settles

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
        # A video that the remote shows as marked is watched and marked again; compare_flags checks the remote.
        for video in self.marked_again:
            self.report_positions(self.phone, video, [0, 190])
            self.toggle(self.phone, video, "WatchLaterToggled", True)
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
            self.report.equal("SR3", f"the extraction to run {seconds} seconds after two URLs were found", expected,
                              plan["run"])

    def try_downloads(self):
        """SR5: a video on disk needs no extraction; watched videos are deleted first."""
        self.report.waits("SR5", "moving the bytes of a download needs the media part")
        unwatched, watched = self.case_videos[6], self.case_videos[7]
        files, names = [], []
        for number in range(2):
            file, data = self.stage.place / f"clip-{number}", bytes([number]) * 1000
            file.write_bytes(data)
            files.append(str(file))
            names.append(hashlib.sha256(data).hexdigest())
        blobs = [row["blob"] for row in self.phone.run("blob", "add", *files).document["blobs"]]
        self.report.equal("SR5", "names of the files", names, blobs)
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

    # At the end

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
        rows = self.phone.ask("list", "timeline", "--limit", "20")["videos"]
        missing = [row["key"] for row in rows if not row["thumbnailUrl"]]
        self.report.equal("SH14", "videos without the address of a picture", [], missing)
        for name, data in (("one", b"a" * 100), ("two", b"a" * 100), ("three", b"b" * 100)):
            (self.stage.place / name).write_bytes(data)
            self.phone.run("image", "keep", f"http://img.example.org/{name}.jpg", str(self.stage.place / name))
        images = self.phone.run("image", "list").document["images"]
        self.report.equal("SH14", "files of three pictures, two of which are equal", 2, len({row["blob"] for row in images}))
        self.phone.run("image", "evict", "--budget", "100")
        images = self.phone.run("image", "list").document["images"]
        self.report.equal("SH14", "the picture that stays", ["http://img.example.org/three.jpg"],
                          [row["url"] for row in images])

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
        left = [path.name for path in (self.stage.place / "phone").rglob("*")]
        self.report.equal("SH11", "files of an erased store", [], left)
        demo = Device(self.stage, "demo", self.kills, "--demo")
        result = demo.run("sync", self.server.url, "--token-file", self.server.document["tokenFile"], codes=(0, 64))
        self.report.equal("SH12", "exit code of a sync of the demo", 64, result.code)
