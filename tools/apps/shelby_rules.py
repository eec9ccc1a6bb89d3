"""The rules of the original apps (Shelby, SPVideoReel), and the states that follow from a user's actions."""

import datetime

# The duration of every video of the simulated system, in seconds.
DURATION = 213
# A video is finished if playback stops within this time of its end.
FINISHED_SECONDS = 5
# A viewing that passes this part of a video takes it off the watch-later list (B 1.8).
WATCH_LATER_END = 0.75
# The time for which an extracted URL is used again (B 3).
EXTRACTION_SECONDS = 300
# The length of a text on Twitter.
CHARACTERS_MAX = 140
DAY = 86_400


def iso(seconds):
    """Returns a time in RFC 3339, with milliseconds."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


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
