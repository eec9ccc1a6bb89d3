"""Reads the simulated Shelby through its own API, and through the ledger of its writes."""

import base64
import datetime
import hashlib
import hmac
import secrets
import urllib.parse

USER, PASSWORD = "ada@example.org", "difference engine"
TOKEN, TOKEN_SECRET = "ada-oauth-token", "ada-oauth-secret"
CONSUMER, CONSUMER_SECRET = "sample-consumer-key", "sample-consumer-secret"
# The secrets that must not be in any event.
SECRETS = (PASSWORD, TOKEN_SECRET, CONSUMER_SECRET, "ada-auth-token")
# Dashboard entries that the 2014 app did not show: genius, watch and comment notices (B 2.3).
ACTIONS_DROPPED = (3, 9, 10)
ACTIONS_WITHOUT_SHARER = (31, 33)
LIMIT = 500


def seconds_of(text):
    """Returns a time such as `2012-05-03T17:59:00.000Z` in seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Broadcast:
    """A video that was shared with the user: `at` in seconds since 1970, and the texts of its comments."""

    def __init__(self, id, key, at, sharer, texts, is_liked, is_marked, conversation=None):
        self.id, self.key, self.at, self.sharer, self.texts = id, key, at, sharer, texts
        self.is_liked, self.is_marked, self.conversation = is_liked, is_marked, conversation


class Ledger:
    """The writes of the user that took effect, and the requests that the API does not define."""

    def __init__(self, simulator, account):
        rows = simulator.request("GET", "/_simulator/effects")
        self.rows = [row for row in rows if row["account"] == account]
        self.violations = simulator.request("GET", "/_simulator/violations")

    def of(self, *kinds):
        return [row for row in self.rows if row["kind"] in kinds]


class RemoteV1:
    """The API of 2012 to 2014."""

    suffix = "/v1"

    def __init__(self, simulator):
        self.simulator = simulator

    def sign_in(self):
        form = urllib.parse.urlencode({"email": USER, "password": PASSWORD})
        result = self.simulator.request("POST", "/v1/token", form)["result"]
        self.account, self.token = result["id"], result["authentication_token"]
        self.roll = result["personal_roll_id"]
        return self.account

    def get(self, path, **query):
        query = urllib.parse.urlencode({**query, "auth_token": self.token})
        return self.simulator.request("GET", f"/v1/{path}?{query}")["result"]

    @staticmethod
    def key(video):
        return f"{video['provider_name']}:{video['provider_id']}"

    def broadcasts(self):
        """The broadcasts on the dashboard, without those that the apps did not show."""
        found = []
        for entry in self.get("dashboard", limit=LIMIT):
            frame = entry["frame"]
            if entry["action"] in ACTIONS_DROPPED or not frame or not frame["video"]:
                continue
            if not frame["creator"] and entry["action"] not in ACTIONS_WITHOUT_SHARER:
                continue
            messages = (frame["conversation"] or {"messages": []})["messages"]
            found.append(Broadcast(
                frame["id"], self.key(frame["video"]), int(frame["id"][:8], 16), (frame["creator"] or {}).get("nickname"),
                [message["text"] for message in messages], self.account in frame["upvoters"], False,
                frame["conversation_id"]))
        return found

    @staticmethod
    def destination(effect):
        """The destination of a share, which is followed by the addresses."""
        return effect["detail"].split(",")[0]

    def own_roll(self):
        """The frames on the user's roll, newest first: (id, key)."""
        return self.frames(self.roll)

    def frames(self, roll):
        """The frames on a roll, newest first: (id, key)."""
        return [(frame["id"], self.key(frame["video"]))
                for frame in self.get(f"roll/{roll}/frames", limit=LIMIT)["frames"] if frame["video"]]

    def followed_rolls(self):
        """The titles and owners of the rolls that the user follows, by id."""
        return {roll["id"]: [roll["title"], roll["creator_id"]]
                for roll in self.get(f"user/{self.account}/rolls/following")}

    def comment_as_other(self, conversation, text):
        """Adds a comment of another user."""
        form = urllib.parse.urlencode({"email": "user1@example.org", "password": "password 1"})
        token = self.simulator.request("POST", "/v1/token", form)["result"]["authentication_token"]
        form = urllib.parse.urlencode({"text": text, "auth_token": token})
        self.simulator.request("POST", f"/v1/conversation/{conversation}/messages", form)

    def video_of(self, id):
        video = self.get(f"frame/{id}", include_children="true")["video"]
        return self.key(video) if video else None


class RemoteV2:
    """The API of 2012, with signed requests."""

    suffix = ""

    def __init__(self, simulator):
        self.simulator = simulator

    def get(self, path, **query):
        """Sends a request with a signature by OAuth 1.0a."""
        def encoded(text):
            return urllib.parse.quote(text, safe="-._~")
        url = f"{self.simulator.url}/v2/{path}"
        oauth = {
            "oauth_consumer_key": CONSUMER, "oauth_token": TOKEN, "oauth_signature_method": "HMAC-SHA1",
            "oauth_timestamp": str(self.now()), "oauth_nonce": secrets.token_hex(8), "oauth_version": "1.0",
        }
        pairs = sorted((encoded(name), encoded(value)) for name, value in {**query, **oauth}.items())
        base = "&".join(["GET", encoded(url), encoded("&".join(f"{name}={value}" for name, value in pairs))])
        key = f"{encoded(CONSUMER_SECRET)}&{encoded(TOKEN_SECRET)}"
        oauth["oauth_signature"] = base64.b64encode(hmac.new(key.encode(), base.encode(), hashlib.sha1).digest()).decode()
        header = "OAuth " + ", ".join(f'{name}="{encoded(value)}"' for name, value in oauth.items())
        query = f"?{urllib.parse.urlencode(query)}" if query else ""
        return self.simulator.request("GET", f"/v2/{path}{query}", headers={"Authorization": header})

    @staticmethod
    def destination(effect):
        """The destination of a share, which is followed by the addresses."""
        return effect["detail"].split(" to ")[0]

    def now(self):
        """The time of the simulator's clock, in seconds."""
        return self.simulator.request("POST", "/_simulator/advance?ms=0")["now"] // 1000

    def sign_in(self):
        self.account = self.get("users.json")[0]["_id"]
        channels = self.get("channels.json")
        self.channel = next(channel["_id"] for channel in channels if channel["public"] == 0)
        return self.account

    def broadcasts(self):
        """The broadcasts of the two players that the app asked for."""
        return [
            Broadcast(
                row["_id"], f"{row['video_provider_name']}:{row['video_id_at_provider']}",
                seconds_of(row["created_at"]), row["video_originator_user_nickname"],
                [row["description"]] if row["description"] else [], row["liked_by_owner"] == 1,
                row.get("owner_watch_later") == 1)
            for row in self.get(f"channels/{self.channel}/broadcasts.json", video_player="youtube,vimeo")]
