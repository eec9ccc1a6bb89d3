"""Compares the ledger of the remote, both stores and the expectations after everything has settled."""

import collections
import json
import signal
import time

from shelby_remote import seconds_of
from shelby_rules import DAY, iso

# The states in which an intent stays until the user decides, and the reasons for which it waits: the remote has no row
# for it, or it is older than the lease of its device, so that another device may be delivering it.
ENDED = ("refused", "unknown")
LASTING = ("notThere", "leased")
# The events that change whether a video is liked or marked.
LIKES = ("LikeToggled",)
MARKS = ("WatchLaterToggled", "PlaybackProgressed")
# The rows of the pages that are read to compare pages with the whole list.
PAGE_ROWS = 9
# The limit on the time until a watched list has received all changes, and the interval at which it is compared.
WATCH_SECONDS_MAX = 20
POLL_SECONDS = 0.05
# The tolerance for an event from the future, which counts from the time at which the server received it.
CLOCK_SECONDS = 60


class Comparisons:
    """The comparisons at the end of a run."""

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
            destination = self.remote.destination(effect) if effect["kind"] == "share" else ""
            counts[effect["kind"], effect["text"], destination] += 1
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
        return video not in self.gone and not any(
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
                what = f"query {' '.join(query)[:60]} on the tablet, as on the phone"
                self.report.equal(row, what, *self.both("query", *query))
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
            if video not in self.gone:
                marked = self.expected.watch_later(video, video in self.marked)
                self.report.equal("SH7", f"{video} is in watch-later", [marked] * 2, [video in marks, video in listed])
        if self.api == "v1":
            roll = self.phone.pages("videos", "query", "list", "personal-roll")
            self.report.equal("SR1", "videos of the personal roll", sorted({key for _, key in self.remote.own_roll()}),
                              sorted({row["key"] for row in roll}))

    def facts(self, until=None):
        """The broadcasts that the remote reported, folded from the log: id -> (key, time).

        The newest observation decides, and the observations of another device may arrive late."""
        observations = {}
        for event in self.phone.log("--type", "BroadcastReceived"):
            if until is None or event["position"] <= until:
                observations.setdefault(event["payload"]["broadcast"], []).append(event)
        found = {}
        for broadcast, events in observations.items():
            if any(event["payload"].get("removed") for event in events):
                events.sort(key=self.version)
            payload = events[-1]["payload"]
            if not payload.get("removed") and "createdAt" in payload:
                found[broadcast] = (payload["video"], seconds_of(payload["createdAt"]))
        return found

    def version(self, event):
        fact = self.phone.run("show", str(event["position"])).document["fact"]
        return fact["version"], fact["observedAt"] or ""

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
        hits = self.phone.pages("hits", "query", "search", "xyzzy")
        self.report.equal("SH8", "search for a word that is nowhere", [], hits)
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
        if self.api == "v1":
            self.compare_chosen_lists()

    def compare_chosen_lists(self):
        """SR1: each device has the lists that either of them chose."""
        rolls = {f"roll/{id}": row for id, row in self.remote.followed_rolls().items()}
        videos = {key for _, key in self.remote.frames(self.chosen_roll.removeprefix("roll/"))}
        for device in self.devices:
            found = {row["list"]: [row["title"], row["owner"]] for row in device.pages("lists", "query", "lists")
                     if row["isFollowed"]}
            self.report.each("SR1", f"title and owner of a followed roll on the {device.name}", rolls, found)
            rows = device.pages("videos", "query", "list", self.chosen_roll)
            self.report.equal("SR1", f"videos of {self.chosen_roll} on the {device.name}", sorted(videos),
                              sorted(row["key"] for row in rows))

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
                             seconds_of(found["effectiveAt"]) < time.time() + CLOCK_SECONDS)

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
