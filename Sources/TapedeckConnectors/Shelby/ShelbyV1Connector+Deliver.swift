internal import SwiftProtobuf
internal import TapedeckModel
package import TapedeckProjections
package import TapedeckSync
internal import TapedeckVideo

extension ShelbyV1Connector {
    package func plan(
        _ intent: Intent, _ views: some ViewReader, _ account: RemoteAccount
    ) throws -> DeliveryPlan {
        switch intent.event.type {
        case LikeToggled.eventType, CommentPosted.eventType, VideoWatched.eventType,
            VideoShared.eventType:
            break
        case VisitStarted.eventType:
            return visit(try intent.event.decode(VisitStarted.self), account)
        default: return .foreign
        }
        let known = try KnownFrames(intent.key, views)
        guard !known.shared.isEmpty || !known.copies.isEmpty else {
            return .waiting(.notThere, "no frame of \(intent.key.name) is known on Shelby")
        }
        switch intent.event.type {
        case LikeToggled.eventType:
            return try intent.event.decode(LikeToggled.self).isOn
                ? like(known, account) : unlike(known)
        case CommentPosted.eventType:
            return comment(
                try intent.event.decode(CommentPosted.self), at: intent.event.stamp, known)
        case VideoWatched.eventType:
            return watched(try intent.event.decode(VideoWatched.self), known)
        default: return try share(intent.event.decode(VideoShared.self), known)
        }
    }

    private var rule: WinnerRule { projections.videos.winner }

    private func post(_ path: String, _ fields: [RemoteRequest.Field]) -> RemoteRequest {
        RemoteRequest("POST", path, body: .form(fields))
    }

    private func path(_ frame: String) -> String { "/frame/\(RemoteRequest.segment(frame))" }

    // MARK: - Likes

    /// The remote counts a repeated like again and creates another copy.
    private func like(_ known: KnownFrames, _ account: RemoteAccount) -> DeliveryPlan {
        guard let frame = known.winner(rule, notOf: account.user) else {
            if known.isLiked { return .satisfied(.feed(ShelbyV1Feed.personalRoll.name)) }
            return .refused(
                .conditionFailed,
                "no other user shares the video on Shelby, and users cannot like their own frames")
        }
        var like = Delivery(
            safety: .probe, request: RemoteRequest("PUT", path(frame.id) + "/like"),
            probe: rollFrames(account), baseline: frame.id)
        // Ask first, because another app may already have added the like.
        like.isAskedFirst = true
        like.shownBy = ShelbyV1Feed.personalRoll.name
        guard known.isLiked else { return .deliver([like]) }
        // Always ask, because another app may have removed the known like.
        like.shownBy = nil
        guard let newest = known.copies.last, let oldest = known.copies.first else {
            if let liked = known.shared.last(where: \.isLiked) {
                like.probe = RemoteRequest("GET", path(liked.id))
            }
            return .deliver([like])
        }
        like.probe = rollFrames(account, since: newest.id)
        like.baseline =
            LikeBaseline(
                frame: frame.id, oldestCopy: ShelbyV1ID(oldest.id),
                newestCopy: ShelbyV1ID(newest.id)
            ).text
        return .satisfied(.wholeFeed(ShelbyV1Feed.personalRoll.name, otherwise: [like]))
    }

    /// Deletes the copies from the roll; the remote then removes the like from the original frames.
    private func unlike(_ known: KnownFrames) -> DeliveryPlan {
        if known.copies.isEmpty {
            return known.isLiked
                ? .waiting(
                    .notThere,
                    "the like cannot be removed yet: Shelby has not yet listed the copy of the video that"
                        + " it made for the like")
                : .satisfied(.feed(ShelbyV1Feed.personalRoll.name))
        }
        let liked = known.shared.filter(\.isLiked).map(\.id).joined(separator: " ")
        return .deliver(
            known.copies.map { copy in
                Delivery(
                    target: copy.id, safety: .natural,
                    request: RemoteRequest("DELETE", path(copy.id)), baseline: liked)
            })
    }

    // MARK: - Other intents

    private func comment(
        _ comment: CommentPosted, at stamp: Stamp, _ known: KnownFrames
    ) -> DeliveryPlan {
        guard let id = known.conversation(rule) else {
            return .waiting(.notThere, "no conversation about the video is known on Shelby")
        }
        let path = "/conversation/\(RemoteRequest.segment(id))"
        var delivery = Delivery(
            safety: .probe, request: post(path + "/messages", [.init("text", comment.text)]),
            probe: RemoteRequest("GET", path), baseline: known.newestMessage)
        let begin = Int64(stamp.milliseconds) - ShelbyV1Connector.skewMax
        delivery.baselineOfOthers = ShelbyV1ID(at: begin).text
        return .deliver([delivery])
    }

    /// The remote requires an interval or `complete`; a view that only started is sent as an empty
    /// interval.
    private func watched(_ watched: VideoWatched, _ known: KnownFrames) -> DeliveryPlan {
        guard let frame = known.winner(rule) else { return waitsForShared }
        var fields: [RemoteRequest.Field] = []
        if watched.hasStartSeconds || watched.hasEndSeconds || !watched.isComplete {
            let start = watched.hasStartSeconds ? watched.startSeconds : 0
            let end = watched.hasEndSeconds ? watched.endSeconds : start
            fields = [.init("start_time", seconds(start)), .init("end_time", seconds(end))]
        }
        if watched.isComplete { fields.append(.init("complete", "1")) }
        return .deliver([
            Delivery(safety: .once, request: post(path(frame.id) + "/watched", fields))
        ])
    }

    /// The remote counts the visits of each platform; it knows only `ios` and `web`.
    private func visit(_ visit: VisitStarted, _ account: RemoteAccount) -> DeliveryPlan {
        guard visit.system == Shelby.system, account.isAnonymous || visit.account == account.user
        else { return .foreign }
        return .deliver([
            Delivery(
                safety: .once,
                request: RemoteRequest(
                    "PUT", "/user/\(RemoteRequest.segment(visit.account))/visit",
                    body: .form([.init("platform", "ios")])))
        ])
    }

    private func seconds(_ value: Double) -> String {
        // No video is that long, and a larger number would not fit into an `Int64`.
        let whole = value.rounded(.down)
        return whole == value && value < 1e15 ? String(Int64(whole)) : String(value)
    }

    private func share(_ share: VideoShared, _ known: KnownFrames) throws -> DeliveryPlan {
        if let other = share.destinations.first(where: { !Self.destinations.contains($0) }) {
            return .refused(
                .remoteError,
                "Shelby shares to \(Self.destinations.joined(separator: ", ")), but not to \(other)"
            )
        }
        let isByMail = share.destinations.contains("email")
        if isByMail, share.to.isEmpty {
            return .refused(.invalidPayload, "a share by email has no recipients")
        }
        guard let frame = known.winner(rule) else { return waitsForShared }
        var fields = share.destinations.map { RemoteRequest.Field("destination[]", $0) }
        // Shelby adds its own link, except to emails.
        let text =
            isByMail
            ? share.text : ShareText.withoutLink(share.text, to: try VideoKey(share.video))
        fields.append(.init("text", text))
        if isByMail { fields.append(.init("addresses", share.to)) }
        return .deliver([
            Delivery(safety: .once, request: post(path(frame.id) + "/share", fields))
        ])
    }

    private static let destinations = ["twitter", "facebook", "email"]

    private var waitsForShared: DeliveryPlan {
        .waiting(.notThere, "no frame that shares the video is known on Shelby")
    }

    // MARK: - Confirming

    package func confirm(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        if delivery.request.method == "DELETE" {
            return try confirmUnlike(response, delivery, intent)
        }
        let result = try ShelbyV1Documents.result(response)
        switch intent.event.type {
        case LikeToggled.eventType:
            return try confirmLike(result, response, delivery, intent, account)
        case CommentPosted.eventType:
            let own = try own(result, intent, account)
            // The newest of these messages was just added.
            return try confirmation(own.max { $0.id < $1.id }, result, response, intent)
        default: return Confirmation()
        }
    }

    private func confirmLike(
        _ result: JSONValue, _ response: RemoteResponse, _ delivery: Delivery, _ intent: Intent,
        _ account: RemoteAccount
    ) throws(SyncFailure) -> Confirmation {
        var shown: ShelbyV1Frame?
        if let frame = try? ShelbyV1Frame(try element(result)) { shown = frame }
        // Without a valid login, Shelby counts the like but does not attribute it to a user.
        if let upvoters = shown?.upvoters, !upvoters.contains(account.user) {
            throw SyncFailure(
                .unauthorized, "Shelby did not attribute the like to the account",
                hint: "run storectl login NAME")
        }
        let time = observedAt(response, intent)
        guard let shown, shown.upvoters != nil else {
            let frame = LikeBaseline(delivery.baseline).frame
            return Confirmation(observations: try flag(true, [frame], of: intent.key, time))
        }
        var reading = ShelbyV1Reading(account, observedAt: time)
        reading.add(shown, isShared: true, at: "$")
        return Confirmation(observations: reading.content.observations)
    }

    /// If the copy is not found, the like was removed earlier.
    private func confirmUnlike(
        _ response: RemoteResponse, _ delivery: Delivery, _ intent: Intent
    ) throws(SyncFailure) -> Confirmation {
        do {
            _ = try ShelbyV1Documents.result(response)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        var copy = FrameObserved()
        copy.frame = delivery.target
        copy.video = String(intent.key.name)
        copy.likedCopy = true
        copy.removed = true
        var listed = VideoListed()
        listed.list = VideoGroup.personalRoll
        (listed.entry, listed.video, listed.removed) = (copy.frame, copy.video, true)
        let time = observedAt(response, intent)
        let liked = delivery.baseline.split(separator: " ").map(String.init)
        return Confirmation(
            remoteID: delivery.target,
            observations: [try proposal(copy, time), try proposal(listed, time)]
                + (try flag(false, liked, of: intent.key, time)))
    }

    /// Returns observations that record a changed like of frames that are not in the response.
    func flag(
        _ isLiked: Bool, _ frames: [String], of video: Tag, _ time: Int64?
    ) throws(SyncFailure) -> [ProposedEvent] {
        var observations: [ProposedEvent] = []
        for frame in frames {
            guard let id = ShelbyV1ID(frame) else { continue }
            var known = FrameObserved()
            known.frame = frame
            known.video = String(video.name)
            known.liked = isLiked
            observations.append(try proposal(known, time))
            var broadcast = BroadcastReceived()
            broadcast.broadcast = frame
            broadcast.video = String(video.name)
            broadcast.liked = isLiked
            // A frame's creation time is its version; without it, observations cannot be compared.
            broadcast.createdAt = Google_Protobuf_Timestamp(milliseconds: id.milliseconds)
            observations.append(try proposal(broadcast, time))
        }
        return observations
    }

    /// Returns the time at which a changed like was observed.
    ///
    /// Response dates have a resolution of one second. A change must sort after everything read
    /// earlier in the same second, and two changes must keep their order. Within one second,
    /// changes are therefore ordered by the time of the user's action.
    private func observedAt(_ response: RemoteResponse, _ intent: Intent) -> Int64? {
        response.date.map { second in
            min(max(second + 1, Int64(intent.event.stamp.milliseconds)), second + 999)
        }
    }

    func proposal(
        _ observation: some Observation, _ time: Int64?
    ) throws(SyncFailure) -> ProposedEvent {
        do {
            return try ProposedEvent(observation: observation, observedAt: time)
        } catch {
            throw SyncFailure(
                .remoteError, "Shelby's response cannot be recorded: \(ForeignError.text(error))")
        }
    }

    // MARK: - Probing

    package func find(
        _ response: RemoteResponse, _ delivery: Delivery, of intent: Intent, baseline: String,
        taken: Set<String>, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        let result: JSONValue
        do {
            result = try ShelbyV1Documents.result(response)
        } catch  where error.code == .notFound && intent.event.type == LikeToggled.eventType {
            // The liked frame no longer exists.
            return .missing
        }
        guard intent.event.type == CommentPosted.eventType else {
            return try findLike(
                result, response, delivery, intent, LikeBaseline(baseline), account)
        }
        // Ids from the same second are unordered. If several messages are identical, each of them
        // confirms only one intent.
        let since = ShelbyV1ID(baseline)?.milliseconds ?? 0
        let own = try own(result, intent, account).filter {
            $0.id.milliseconds >= since && !taken.contains($0.id.text)
        }
        guard let oldest = own.min(by: { $0.id < $1.id }) else { return .missing }
        return .found(try confirmation(oldest, result, response, intent))
    }

    /// Searches the user's roll for a copy of the video, page by page, back to a time well before
    /// the intent, or checks whether a frame is liked.
    ///
    /// If copies are known, the part of the roll from the newest to the oldest copy is searched
    /// first, and then the rows that are newer than these copies.
    private func findLike(
        _ result: JSONValue, _ response: RemoteResponse, _ delivery: Delivery, _ intent: Intent,
        _ baseline: LikeBaseline, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        guard case .value(.array(let rows)) = try element(result).any("frames") else {
            return try findLiker(result, response, intent, account)
        }
        let frame = baseline.frame
        let time = observedAt(response, intent)
        var reading = ShelbyV1Reading(account, observedAt: time)
        for value in rows { reading.add(value, at: "$", of: .personalRoll) }
        if let copy = reading.likes.first(where: { $0.video == String(intent.key.name) }) {
            return .found(
                Confirmation(
                    remoteID: copy.id.text,
                    observations: [
                        try proposal(copy.observation(for: account.user), time),
                        try proposal(copy.listing(on: VideoGroup.personalRoll), time),
                    ] + (try flag(true, [frame], of: intent.key, time))))
        }
        let since = delivery.probe?.query.first { $0.name == "since_id" }?.value ?? ""
        let next = next(behind: RemotePage("", since), rows.count, reading.oldest)
        guard let newestCopy = baseline.newestCopy, let oldestCopy = baseline.oldestCopy else {
            let begin = Int64(intent.event.stamp.milliseconds) - ShelbyV1Connector.skewMax
            guard let oldest = reading.oldest, oldest.milliseconds >= begin, let next else {
                return .missing
            }
            return .ask(rollFrames(account, since: next.place))
        }
        let isAbove = ShelbyV1ID(since).map { newestCopy < $0 } ?? true
        let end = isAbove ? newestCopy : oldestCopy
        if let next, let oldest = reading.oldest, end < oldest {
            return .ask(rollFrames(account, since: next.place))
        }
        return isAbove ? .missing : .ask(rollFrames(account))
    }

    /// Checks whether the user is among the upvoters of a frame.
    private func findLiker(
        _ result: JSONValue, _ response: RemoteResponse, _ intent: Intent, _ account: RemoteAccount
    ) throws(SyncFailure) -> ProbeResult {
        guard let frame = try? ShelbyV1Frame(try element(result)),
            frame.upvoters?.contains(account.user) == true
        else { return .missing }
        var reading = ShelbyV1Reading(account, observedAt: observedAt(response, intent))
        reading.add(frame, isShared: true, at: "$")
        return .found(Confirmation(observations: reading.content.observations))
    }

    /// The maximum time, in milliseconds, by which this device's clock may be ahead of the
    /// remote's.
    private static let skewMax: Int64 = 86_400_000

    // MARK: - Conversations

    /// Returns the user's messages in a conversation that have the same text as an intent.
    private func own(
        _ conversation: JSONValue, _ intent: Intent, _ account: RemoteAccount
    ) throws(SyncFailure) -> [ShelbyV1Message] {
        do {
            let text = try intent.event.decode(CommentPosted.self).text
            var refused: [IngestRefusal] = []
            return try ShelbyV1Message.list(element(conversation), &refused).filter {
                $0.user == account.user && words($0.text) == words(text)
            }
        } catch let failure as SyncFailure {
            throw failure
        } catch {
            throw SyncFailure(
                .remoteError, "the conversation cannot be read: \(ForeignError.text(error))")
        }
    }

    /// Splits a string into words, because the remote may change whitespace.
    private func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }

    private func confirmation(
        _ message: ShelbyV1Message?, _ conversation: JSONValue, _ response: RemoteResponse,
        _ intent: Intent
    ) throws(SyncFailure) -> Confirmation {
        guard let message else { return Confirmation() }
        let observation = message.observation(
            of: String(intent.key.name),
            in: (try? element(conversation).text("id").value).flatMap { $0 },
            postedAs: intent.event.id)
        return Confirmation(
            remoteID: message.id.text, observations: [try proposal(observation, response.date)])
    }
}

/// The frame to like, and the oldest and the newest known copy that earlier likes created.
private struct LikeBaseline {
    var frame: String
    var oldestCopy: ShelbyV1ID?
    var newestCopy: ShelbyV1ID?

    init(frame: String, oldestCopy: ShelbyV1ID?, newestCopy: ShelbyV1ID?) {
        (self.frame, self.oldestCopy, self.newestCopy) = (frame, oldestCopy, newestCopy)
    }

    /// Parses the baseline of a delivery: the ids, separated by spaces.
    init(_ baseline: String) {
        let ids = baseline.split(separator: " ").map(String.init)
        frame = ids.first ?? ""
        if ids.count == 3 { (oldestCopy, newestCopy) = (ShelbyV1ID(ids[1]), ShelbyV1ID(ids[2])) }
    }

    /// The baseline of a delivery.
    var text: String {
        ([frame] + [oldestCopy, newestCopy].compactMap { $0?.text }).joined(separator: " ")
    }
}
