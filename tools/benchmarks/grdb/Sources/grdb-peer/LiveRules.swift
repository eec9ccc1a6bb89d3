/// The tables that correspond to Tapedeck's projections, with indexes for their lists, and the
/// upserts that maintain these tables.
///
/// Late events are handled in the cheapest way: an event that is older than its row changes
/// nothing.
extension LiveRule {
    static let schema = """
        CREATE TABLE event(position INTEGER PRIMARY KEY, origin INTEGER NOT NULL,
            sequence INTEGER NOT NULL, stamp INTEGER NOT NULL, type TEXT NOT NULL, entity TEXT,
            payload BLOB NOT NULL);
        CREATE UNIQUE INDEX eventID ON event(origin, sequence);
        CREATE TABLE videoList(video TEXT PRIMARY KEY, title, sharer, oldestAt, newestAt,
            broadcasts INT DEFAULT 0, comments INT DEFAULT 0, liked, likedAt) WITHOUT ROWID;
        CREATE INDEX videoNewest ON videoList(newestAt);
        CREATE TABLE broadcast(broadcast TEXT PRIMARY KEY, video, title, sharer, origin, comment,
            createdAt, updatedAt, liked, watchLater, watched) WITHOUT ROWID;
        CREATE INDEX broadcastVideo ON broadcast(video, createdAt);
        CREATE TABLE comment(id TEXT PRIMARY KEY, video, answer, text, author, at) WITHOUT ROWID;
        CREATE INDEX commentVideo ON comment(video, at);
        CREATE INDEX commentAnswer ON comment(answer, at);
        CREATE TABLE watchLater(video TEXT PRIMARY KEY, isOn, at) WITHOUT ROWID;
        CREATE INDEX watchLaterAt ON watchLater(isOn, at);
        CREATE TABLE answer(answer TEXT PRIMARY KEY, question, seconds, videoUrl, thumbnailUrl,
            likeCount, commentCount, liked, likedAt, at) WITHOUT ROWID;
        CREATE INDEX answerAt ON answer(at);
        CREATE TABLE answerLike(id TEXT PRIMARY KEY, answer, user) WITHOUT ROWID;
        CREATE INDEX answerLikeAnswer ON answerLike(answer, user);
        CREATE TABLE question(question TEXT PRIMARY KEY, text, sender, receiver, state, at)
            WITHOUT ROWID;
        CREATE INDEX questionState ON question(state, at);
        CREATE TABLE segment(question, recording, segment, blob, seconds,
            PRIMARY KEY(question, recording, segment)) WITHOUT ROWID;
        CREATE TABLE user(user TEXT PRIMARY KEY, username, firstName, lastName, imageUrl, email,
            about, followers, following, isOwn, at) WITHOUT ROWID;
        CREATE INDEX userName ON user(username);
        CREATE TABLE asked(id INTEGER PRIMARY KEY, receiver, text, at);
        CREATE TABLE follow(user, follower, isOn, at, PRIMARY KEY(user, follower)) WITHOUT ROWID;
        CREATE INDEX followFollower ON follow(follower, user);
        CREATE TABLE show(show TEXT PRIMARY KEY, updated, name, network, webChannel, genres,
            summary, image, runtime, cast) WITHOUT ROWID;
        CREATE TABLE episode(episode TEXT PRIMARY KEY, show, updated, name, season, number,
            airdate, airtime, airstamp, runtime) WITHOUT ROWID;
        CREATE INDEX episodeStart ON episode(airstamp);
        CREATE INDEX episodeShow ON episode(show, airstamp);
        CREATE TABLE listing(day TEXT PRIMARY KEY, country, listedAt, episodes) WITHOUT ROWID;
        CREATE TABLE submission(video TEXT PRIMARY KEY, title, owner, createdAt, views, channel)
            WITHOUT ROWID;
        CREATE INDEX submissionViews ON submission(views);
        CREATE INDEX submissionNew ON submission(createdAt);
        CREATE TABLE chat(id TEXT PRIMARY KEY, video, at, kind, text, file, sender, name)
            WITHOUT ROWID;
        CREATE INDEX chatVideo ON chat(video, at);
        CREATE TABLE opening(viewing TEXT PRIMARY KEY, video, viewer, at) WITHOUT ROWID;
        CREATE TABLE viewCount(video TEXT PRIMARY KEY, views INT) WITHOUT ROWID;
        CREATE TABLE account(system, account, nickname, email, services, channels, isSignedIn, at,
            PRIMARY KEY(system, account)) WITHOUT ROWID;
        CREATE TABLE playability(video TEXT PRIMARY KEY, outcome, reason, retry, firstAt, lastAt,
            at) WITHOUT ROWID;
        CREATE INDEX playabilityOutcome ON playability(outcome, at);
        CREATE TABLE extraction(video TEXT PRIMARY KEY, url, expiresAt, reason, attempt, at)
            WITHOUT ROWID;
        CREATE TABLE playback(video TEXT PRIMARY KEY, viewing, position, duration, isComplete, at)
            WITHOUT ROWID;
        CREATE INDEX playbackAt ON playback(at);
        CREATE TABLE viewing(viewing TEXT PRIMARY KEY, video, position) WITHOUT ROWID;
        CREATE TABLE nowPlaying(device TEXT PRIMARY KEY, video, viewing, position, isPlaying, at)
            WITHOUT ROWID;
        CREATE TABLE queue(queue, video, place, PRIMARY KEY(queue, video)) WITHOUT ROWID;
        CREATE INDEX queuePlace ON queue(queue, place);
        CREATE TABLE download(device, video, blob, bytes, isThere, at, PRIMARY KEY(device, video))
            WITHOUT ROWID;
        CREATE INDEX downloadAt ON download(device, at);
        CREATE TABLE listed(list, entry, video, listedAt, removed, PRIMARY KEY(list, entry))
            WITHOUT ROWID;
        CREATE INDEX listedAt ON listed(list, listedAt);
        CREATE TABLE share(id INTEGER PRIMARY KEY, video, destinations, text, recipient, at);
        CREATE INDEX shareAt ON share(at);
        CREATE TABLE statistic(day INT PRIMARY KEY, plays INT DEFAULT 0, seconds DEFAULT 0,
            completions INT DEFAULT 0, shares INT DEFAULT 0);
        CREATE VIRTUAL TABLE searchVideos USING fts5(video UNINDEXED, title, person, text,
            tokenize='unicode61 remove_diacritics 2');
        CREATE VIRTUAL TABLE searchShows USING fts5(name, text,
            tokenize='unicode61 remove_diacritics 2');
        CREATE VIRTUAL TABLE searchUsers USING fts5(name,
            tokenize='unicode61 remove_diacritics 2');
        CREATE VIRTUAL TABLE searchQuestions USING fts5(text,
            tokenize='unicode61 remove_diacritics 2');
        CREATE VIRTUAL TABLE searchAnswers USING fts5(answer UNINDEXED, text,
            tokenize='unicode61 remove_diacritics 2');
        """

    static let all = videos + answers + users + television + playing

    private static let videos = [
        LiveRule(
            "BroadcastReceived",
            fields: ["video", "title", "sharer", "createdAt"],
            """
            INSERT INTO videoList(video, title, sharer, oldestAt, newestAt, broadcasts)
            VALUES (?1, ?2, ?3, ?4, ?4, 1) ON CONFLICT(video) DO UPDATE SET
                broadcasts = broadcasts + 1, newestAt = max(ifnull(newestAt, ''), excluded.newestAt),
                title = iif(ifnull(excluded.oldestAt < oldestAt, 1), excluded.title, title),
                sharer = iif(ifnull(excluded.oldestAt < oldestAt, 1), excluded.sharer, sharer),
                oldestAt = min(ifnull(oldestAt, excluded.oldestAt), excluded.oldestAt)
            """),
        LiveRule(
            "BroadcastReceived",
            fields: [
                "broadcast", "video", "title", "sharer", "origin", "comment", "createdAt",
                "updatedAt", "liked", "watchLater", "watched",
            ],
            """
            INSERT INTO broadcast VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(broadcast) DO UPDATE SET updatedAt = excluded.updatedAt,
                liked = ifnull(excluded.liked, liked), watched = ifnull(excluded.watched, watched),
                watchLater = ifnull(excluded.watchLater, watchLater)
            """),
        LiveRule(
            "BroadcastReceived", fields: ["watchLater", "video", "@at"],
            """
            INSERT INTO watchLater(isOn, video, at) VALUES (?, ?, ?) ON CONFLICT(video) DO UPDATE
                SET isOn = excluded.isOn, at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "BroadcastReceived", fields: ["video", "title", "sharer", "comment"],
            "INSERT INTO searchVideos VALUES (?, ?, ?, ?)"),
        LiveRule(
            "CommentPosted", fields: ["@id", "video", "answer", "text", "author", "@at"],
            "INSERT INTO comment VALUES (?, ?, ?, ?, ?, ?)"),
        LiveRule(
            "CommentObserved", fields: ["comment", "video", "answer", "text", "author", "@at"],
            "INSERT OR REPLACE INTO comment VALUES (?, ?, ?, ?, ?, ?)"),
        LiveRule(
            "CommentPosted", "CommentObserved", fields: ["video"],
            """
            INSERT INTO videoList(video, comments) VALUES (?, 1)
            ON CONFLICT(video) DO UPDATE SET comments = comments + 1
            """),
        LiveRule(
            "CommentPosted", "CommentObserved", fields: ["video", "author", "text"],
            "INSERT INTO searchVideos VALUES (?1, NULL, ?2, ?3)"),
        LiveRule(
            "LikeToggled", fields: ["video", "isOn", "@at"],
            """
            INSERT INTO videoList(video, liked, likedAt) VALUES (?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET liked = excluded.liked, likedAt = excluded.likedAt
                WHERE ifnull(excluded.likedAt >= likedAt, 1)
            """),
        LiveRule(
            "WatchLaterToggled", fields: ["video", "isOn", "@at"],
            """
            INSERT INTO watchLater VALUES (?, ?, ?) ON CONFLICT(video) DO UPDATE
                SET isOn = excluded.isOn, at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "PlaybackProgressed", fields: ["video", "positionSeconds", "durationSeconds", "@at"],
            """
            UPDATE watchLater SET isOn = 0, at = ?4
            WHERE video = ?1 AND isOn AND ?2 > 0.75 * ?3 AND at <= ?4
            """),
        LiveRule(
            "VideoListed", fields: ["list", "entry", "video", "listedAt", "removed"],
            """
            INSERT INTO listed VALUES (?, ?, ?, ?, ?) ON CONFLICT(list, entry) DO UPDATE
                SET video = excluded.video, listedAt = excluded.listedAt, removed = excluded.removed
            """),
        LiveRule(
            "VideoShared", fields: ["@id", "video", "destinations", "text", "to", "@at"],
            "INSERT INTO share VALUES (?, ?, ?, ?, ?, ?)"),
        LiveRule(
            "VideoSubmitted", fields: ["video", "title", "@at"],
            """
            INSERT INTO submission(video, title, createdAt) VALUES (?, ?, ?)
            ON CONFLICT DO NOTHING
            """),
        LiveRule(
            "SubmissionObserved",
            fields: ["video", "title", "owner", "createdAt", "views", "channel"],
            """
            INSERT INTO submission VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(video) DO UPDATE SET
                title = excluded.title, owner = excluded.owner, createdAt = excluded.createdAt,
                views = excluded.views, channel = excluded.channel
            """),
        LiveRule(
            "ChatMessageObserved",
            fields: ["message", "video", "at", "kind", "text", "file", "sender", "senderName"],
            "INSERT OR REPLACE INTO chat VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
        LiveRule(
            "ChatMessagePosted", fields: ["@id", "video", "@at", "text", "file", "sender"],
            "INSERT INTO chat VALUES ('own-' || ?1, ?2, ?3, NULL, ?4, ?5, ?6, NULL)"),
        LiveRule(
            "VideoOpened", fields: ["viewing", "video", "viewer", "@at"],
            "INSERT INTO opening VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"),
        LiveRule(
            "VideoOpened", fields: ["video"],
            """
            INSERT INTO viewCount VALUES (?, 1)
            ON CONFLICT(video) DO UPDATE SET views = views + (changes() > 0)
            """),
    ]

    private static let answers = [
        LiveRule(
            "AnswerUploaded",
            fields: ["answer", "question", "durationSeconds", "videoUrl", "thumbnailUrl", "@at"],
            """
            INSERT INTO answer(answer, question, seconds, videoUrl, thumbnailUrl, at)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(answer) DO UPDATE SET
                question = excluded.question, seconds = ifnull(excluded.seconds, seconds),
                videoUrl = ifnull(excluded.videoUrl, videoUrl), at = max(ifnull(at, 0), excluded.at)
            """),
        LiveRule(
            "AnswerObserved",
            fields: [
                "answer", "question", "videoUrl", "thumbnailUrl", "likeCount", "commentCount",
            ],
            """
            INSERT INTO answer(answer, question, videoUrl, thumbnailUrl, likeCount, commentCount)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(answer) DO UPDATE SET
                videoUrl = excluded.videoUrl, thumbnailUrl = excluded.thumbnailUrl,
                likeCount = excluded.likeCount, commentCount = excluded.commentCount
            """),
        LiveRule(
            "AnswerUploaded", "AnswerObserved", fields: ["question", "@at"],
            """
            INSERT INTO question(question, state, at) VALUES (?, 'answered', ?)
            ON CONFLICT(question) DO UPDATE SET state = excluded.state
            """),
        LiveRule(
            "LikeObserved", fields: ["like", "answer", "user"],
            "INSERT OR REPLACE INTO answerLike VALUES (?, ?, ?)"),
        LiveRule(
            "LikeToggled", fields: ["answer", "isOn", "@at"],
            """
            INSERT INTO answer(answer, liked, likedAt) VALUES (?, ?, ?)
            ON CONFLICT(answer) DO UPDATE SET liked = excluded.liked, likedAt = excluded.likedAt
                WHERE ifnull(excluded.likedAt >= likedAt, 1)
            """),
        LiveRule(
            "CommentPosted", "CommentObserved", fields: ["answer", "text"],
            "INSERT INTO searchAnswers VALUES (?, ?)"),
        LiveRule(
            "QuestionObserved", fields: ["question", "text", "sender", "receiver", "@at"],
            """
            INSERT INTO question VALUES (?, ?, ?, ?, 'open', ?) ON CONFLICT(question) DO UPDATE
                SET text = excluded.text, sender = excluded.sender, receiver = excluded.receiver
            """),
        LiveRule(
            "QuestionObserved", fields: ["question", "text"],
            "INSERT OR REPLACE INTO searchQuestions(rowid, text) VALUES (substr(?, 2), ?)"),
        LiveRule(
            "QuestionAsked", fields: ["@id", "receiver", "text", "@at"],
            "INSERT INTO asked VALUES (?, ?, ?, ?)"),
        LiveRule(
            "AnswerSegmentRecorded",
            fields: ["question", "recording", "segment", "blob", "durationSeconds"],
            "INSERT OR REPLACE INTO segment VALUES (?, ?, ?, ?, ?)"),
        LiveRule(
            "AnswerSegmentRemoved", fields: ["question", "recording", "segment"],
            "DELETE FROM segment WHERE question = ? AND recording = ? AND segment = ?"),
        LiveRule(
            "AnswerMergeStarted", fields: ["question", "@at"],
            """
            INSERT INTO question(question, state, at) VALUES (?, 'merging', ?)
            ON CONFLICT(question) DO UPDATE SET state = excluded.state
            """),
        LiveRule(
            "AnswerMergeFailed", fields: ["question"],
            "UPDATE question SET state = 'open' WHERE question = ?"),
        LiveRule(
            "AnswerRecorded", fields: ["question", "recording"],
            "DELETE FROM segment WHERE question = ? AND recording = ?"),
        LiveRule(
            "AnswerRecorded", fields: ["question"],
            "UPDATE question SET state = 'answering' WHERE question = ?"),
    ]

    private static let users = [
        LiveRule(
            "UserObserved",
            fields: [
                "user", "username", "firstName", "lastName", "imageUrl", "email", "followerCount",
                "followingCount", "isOwn", "@at",
            ],
            """
            INSERT INTO user(user, username, firstName, lastName, imageUrl, email, followers,
                following, isOwn, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(user) DO UPDATE SET username = excluded.username,
                firstName = ifnull(excluded.firstName, firstName),
                lastName = ifnull(excluded.lastName, lastName),
                imageUrl = ifnull(excluded.imageUrl, imageUrl),
                followers = ifnull(excluded.followers, followers),
                following = ifnull(excluded.following, following),
                isOwn = ifnull(excluded.isOwn, isOwn), at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "UserObserved", fields: ["user", "username", "firstName", "lastName"],
            """
            INSERT OR REPLACE INTO searchUsers(rowid, name)
            VALUES (?1, ifnull(?2, '') || ' ' || ifnull(?3, '') || ' ' || ifnull(?4, ''))
            """),
        LiveRule(
            "ProfileEdited", fields: ["user", "firstName", "about", "@at"],
            """
            INSERT INTO user(user, firstName, about, at) VALUES (?, ?, ?, ?)
            ON CONFLICT(user) DO UPDATE SET firstName = ifnull(excluded.firstName, firstName),
                about = ifnull(excluded.about, about)
            """),
        LiveRule(
            "FollowObserved", "FollowToggled", fields: ["user", "follower", "isOn", "@at"],
            """
            INSERT INTO follow VALUES (?, ?, ?, ?) ON CONFLICT(user, follower) DO UPDATE
                SET isOn = excluded.isOn, at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "AccountObserved",
            fields: ["system", "account", "nickname", "email", "services", "channels", "@at"],
            """
            INSERT INTO account(system, account, nickname, email, services, channels, at)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(system, account) DO UPDATE SET
                nickname = excluded.nickname, email = excluded.email,
                services = excluded.services, channels = excluded.channels
            """),
        LiveRule(
            "SignedIn", fields: ["system", "account", "@at"],
            """
            INSERT INTO account(system, account, isSignedIn, at) VALUES (?, ?, 1, ?)
            ON CONFLICT(system, account) DO UPDATE SET isSignedIn = 1, at = excluded.at
                WHERE excluded.at >= at
            """),
        LiveRule(
            "SignedOut", fields: ["system", "account", "@at"],
            """
            INSERT INTO account(system, account, isSignedIn, at) VALUES (?, ?, 0, ?)
            ON CONFLICT(system, account) DO UPDATE SET isSignedIn = 0, at = excluded.at
                WHERE excluded.at >= at
            """),
    ]

    private static let television = [
        LiveRule(
            "ShowObserved",
            fields: [
                "show", "updated", "name", "network", "webChannel", "genres", "summary", "image",
                "runtimeMinutes",
            ],
            """
            INSERT INTO show VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT(show) DO UPDATE
                SET updated = excluded.updated, name = excluded.name, network = excluded.network,
                webChannel = excluded.webChannel, genres = excluded.genres,
                summary = excluded.summary, image = excluded.image, runtime = excluded.runtime
                WHERE ifnull(excluded.updated >= updated, 1)
            """),
        LiveRule(
            "ShowObserved", fields: ["show", "name", "summary"],
            "INSERT OR REPLACE INTO searchShows(rowid, name, text) VALUES (?, ?, ?)"),
        LiveRule(
            "CastObserved", fields: ["show", "cast"],
            """
            INSERT INTO show(show, cast) VALUES (?, ?)
            ON CONFLICT(show) DO UPDATE SET cast = excluded.cast
            """),
        LiveRule(
            "EpisodeScheduled",
            fields: [
                "episode", "show", "showUpdated", "name", "season", "number", "airdate", "airtime",
                "airstamp", "runtimeMinutes",
            ],
            """
            INSERT INTO episode VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(episode) DO UPDATE
                SET updated = excluded.updated, name = excluded.name, airdate = excluded.airdate,
                airtime = excluded.airtime, airstamp = excluded.airstamp
                WHERE excluded.updated >= updated
            """),
        LiveRule(
            "ScheduleListed", fields: ["date", "country", "listedAt", "episodes"],
            """
            INSERT INTO listing VALUES (?, ?, ?, ?) ON CONFLICT(day) DO UPDATE
                SET listedAt = excluded.listedAt, episodes = excluded.episodes
                WHERE excluded.listedAt >= listedAt
            """),
    ]

    private static let playing = [
        LiveRule(
            "PlayabilityChecked",
            fields: ["video", "outcome", "reason", "retryAfterSeconds", "@at"],
            """
            INSERT INTO playability(video, outcome, reason, retry, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET outcome = excluded.outcome, reason = excluded.reason,
                retry = excluded.retry, at = excluded.at WHERE ifnull(excluded.at >= at, 1)
            """),
        LiveRule(
            "FrameObserved", fields: ["video", "firstUnplayableAt", "lastUnplayableAt"],
            """
            INSERT INTO playability(video, firstAt, lastAt) VALUES (?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET
                firstAt = min(ifnull(firstAt, excluded.firstAt), excluded.firstAt),
                lastAt = max(ifnull(lastAt, excluded.lastAt), excluded.lastAt)
                WHERE excluded.firstAt IS NOT NULL
            """),
        LiveRule(
            "VideoExtracted", fields: ["video", "url", "expiresAt", "@at"],
            """
            INSERT INTO extraction(video, url, expiresAt, at) VALUES (?, ?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET url = excluded.url, expiresAt = excluded.expiresAt,
                reason = NULL, at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "ExtractionFailed", fields: ["video", "reason", "attempt", "@at"],
            """
            INSERT INTO extraction(video, reason, attempt, at) VALUES (?, ?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET reason = excluded.reason, attempt = excluded.attempt,
                at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "PlaybackProgressed",
            fields: ["video", "viewing", "positionSeconds", "durationSeconds", "@at"],
            """
            INSERT INTO playback(video, viewing, position, duration, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET viewing = excluded.viewing,
                position = excluded.position, duration = excluded.duration, at = excluded.at
                WHERE excluded.at >= at
            """),
        LiveRule(
            "VideoWatched", fields: ["video", "endSeconds", "isComplete", "@at"],
            """
            INSERT INTO playback(video, position, isComplete, at) VALUES (?, ?, ?, ?)
            ON CONFLICT(video) DO UPDATE SET position = excluded.position,
                isComplete = excluded.isComplete, at = excluded.at WHERE excluded.at >= at
            """),
        LiveRule(
            "PlaybackProgressed", fields: ["viewing", "video", "positionSeconds"],
            """
            INSERT INTO viewing VALUES (?, ?, ?) ON CONFLICT(viewing) DO UPDATE
                SET position = max(position, excluded.position)
            """),
        LiveRule(
            "PlaybackProgressed", fields: ["@day", "positionSeconds", "durationSeconds"],
            """
            INSERT INTO statistic(day, plays, completions) VALUES (?1, 1, ?2 >= ?3)
            ON CONFLICT(day) DO UPDATE SET plays = plays + 1,
                completions = completions + excluded.completions
            """),
        LiveRule(
            "VideoWatched", fields: ["@day", "startSeconds", "endSeconds"],
            """
            INSERT INTO statistic(day, seconds) VALUES (?1, ifnull(?3, 0) - ifnull(?2, 0))
            ON CONFLICT(day) DO UPDATE SET seconds = seconds + excluded.seconds
            """),
        LiveRule(
            "VideoShared", fields: ["@day"],
            """
            INSERT INTO statistic(day, shares) VALUES (?, 1)
            ON CONFLICT(day) DO UPDATE SET shares = shares + 1
            """),
        LiveRule(
            "NowPlayingChanged",
            fields: ["device", "video", "viewing", "positionSeconds", "isPlaying", "@at"],
            """
            INSERT INTO nowPlaying VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(device) DO UPDATE
                SET video = excluded.video, viewing = excluded.viewing,
                position = excluded.position, isPlaying = excluded.isPlaying, at = excluded.at
                WHERE excluded.at >= at
            """),
        LiveRule(
            "VideoQueued", fields: ["queue", "video", "@at"],
            "INSERT INTO queue VALUES (?, ?, ?) ON CONFLICT DO NOTHING"),
        LiveRule(
            "VideoQueuedNext", fields: ["queue", "video", "after"],
            """
            INSERT INTO queue VALUES (?1, ?2,
                ifnull((SELECT place + 0.5 FROM queue WHERE queue = ?1 AND video = ?3), 0))
            ON CONFLICT(queue, video) DO UPDATE SET place = excluded.place
            """),
        LiveRule(
            "VideoUnqueued", fields: ["queue", "video"],
            "DELETE FROM queue WHERE queue = ? AND video = ?"),
        LiveRule("QueueCleared", fields: ["queue"], "DELETE FROM queue WHERE queue = ?"),
        LiveRule(
            "DownloadCompleted", fields: ["device", "video", "blob", "bytes", "@at"],
            """
            INSERT INTO download VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT(device, video) DO UPDATE
                SET blob = excluded.blob, bytes = excluded.bytes, isThere = 1, at = excluded.at
                WHERE excluded.at >= at
            """),
        LiveRule(
            "DownloadRemoved", fields: ["device", "video", "@at"],
            """
            INSERT INTO download VALUES (?, ?, NULL, NULL, 0, ?) ON CONFLICT(device, video) DO UPDATE
                SET isThere = 0, at = excluded.at WHERE excluded.at >= at
            """),
    ]
}
