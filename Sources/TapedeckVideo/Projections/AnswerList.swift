internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The answers that can be watched or were handed in, and what was said of them.
///
/// Items: comments as `CommentedState` says; `k` like-id user → user, and `u` user → that like: the least of
/// the user's likes, so that liking again neither adds a liker nor moves one. Outcomes as `OutcomeItems` says.
/// Table 0 holds the answers, the one handed in last first, and behind those the ones of which no time is
/// known, by their numbers, the greatest first. Table 1 holds those that a remote tells of by their numbers.
public struct AnswerList: Projection {
    /// Makes the projection.
    public init() {}

    /// `answers`.
    public var name: String { "answers" }
    /// 4.
    public var version: Int { 4 }
    /// `answer`.
    public var tagKind: String { "answer" }
    /// What is handed in, what is seen of it and what is said of it.
    public var eventTypes: [EventType] {
        [
            AnswerUploaded.eventType, CommentPosted.eventType, CommentObserved.eventType,
            AnswerObserved.eventType, LikeObserved.eventType, LikeToggled.eventType,
            IntentOutcome.eventType,
        ]
    }
    /// Any: reports and sightings that come out of their order ask for a refold; likes do not meet each other,
    /// and of toggles and outcomes the last counts.
    public var law: FoldLaw { .any }
    /// The rule in a sentence.
    public var ruleText: String? {
        """
        An answer is the sum of its sightings and of its reports, newer over older; \
        comments and likers count once each, and the user's last toggle says whether it \
        is liked.
        """
    }
    /// Two: the list, and those that a remote tells of.
    public var tables: [String] { ["newest-first", "by-number"] }
    /// What is said about an answer, and who likes it.
    public var followedItems: [[UInt8]] {
        CommentItems.lists + [AnswerItems.likers, AnswerItems.likes]
    }
    /// Yes: what the user wants of the like is in no row.
    public var statesAreFollowed: Bool { true }

    /// What is known of an answer.
    public struct State: CommentedState, Equatable {
        /// Unix milliseconds of the first report; nil while there is none.
        var uploadedAt: Int64?
        var uploaded = AnswerUploaded()
        private(set) var uploadedOrder: FoldOrder?
        /// All that remotes have shown, newer over older.
        var sighting = AnswerObserved()
        private(set) var sightingOrder: FoldOrder?
        var posted: UInt64 = 0
        var observed: UInt64 = 0
        var echoed: UInt64 = 0
        /// The greatest number of a comment that a remote has shown.
        var newestComment: UInt64 = 0
        /// Users of whom a remote has shown a like.
        var likers: UInt64 = 0
        /// What the user of this store wants of the like.
        var like: OwnToggle?

        /// Nothing.
        public init() {}

        var isSighted: Bool { sightingOrder != nil }
        var question: String? {
            isSighted ? sighting.question : uploadedAt == nil ? nil : uploaded.question
        }
        var videoURL: String? {
            sighting.hasVideoURL
                ? sighting.videoURL : uploaded.hasVideoURL ? uploaded.videoURL : nil
        }
        var thumbnailURL: String? {
            sighting.hasThumbnailURL
                ? sighting.thumbnailURL : uploaded.hasThumbnailURL ? uploaded.thumbnailURL : nil
        }

        /// Takes a report; false where one that comes behind it has been taken.
        fileprivate mutating func take(
            _ report: AnswerUploaded, at milliseconds: Int64, order: FoldOrder
        ) -> Bool {
            if let last = uploadedOrder, order <= last { return order == last }
            uploadedOrder = order
            if uploadedAt == nil { uploadedAt = milliseconds }
            uploaded.answer = report.answer
            uploaded.question = report.question
            if report.hasDurationSeconds { uploaded.durationSeconds = report.durationSeconds }
            if report.hasVideoURL { uploaded.videoURL = report.videoURL }
            if report.hasThumbnailURL { uploaded.thumbnailURL = report.thumbnailURL }
            return true
        }

        /// Takes a sighting; false where a newer one has been taken.
        fileprivate mutating func take(_ sighting: AnswerObserved, order: FoldOrder) -> Bool {
            if let last = sightingOrder, order <= last { return order == last }
            sightingOrder = order
            self.sighting.merge(newer: sighting)
            return true
        }

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            uploadedAt = try bytes.optionalInt64()
            uploaded = try bytes.message()
            uploadedOrder = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            sighting = try bytes.message()
            sightingOrder = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            posted = try bytes.uint64()
            observed = try bytes.uint64()
            echoed = try bytes.uint64()
            newestComment = try bytes.uint64()
            likers = try bytes.uint64()
            like = try bytes.optional { (reader) throws(ModelError) in
                try OwnToggle(decoding: &reader)
            }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(uploadedAt)
            bytes.add(message: uploaded)
            bytes.add(uploadedOrder) { $0.add($1) }
            bytes.add(message: sighting)
            bytes.add(sightingOrder) { $0.add($1) }
            bytes.add(posted)
            bytes.add(observed)
            bytes.add(echoed)
            bytes.add(newestComment)
            bytes.add(likers)
            bytes.add(like) { $1.encode(into: &$0) }
        }
    }

    /// Folds a report, a sighting, a comment or a like.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let isInOrder = key.state.take(
                try event.decode(AnswerUploaded.self).normalized(),
                at: Int64(event.stamp.milliseconds), order: event.order)
            if !isInOrder { key.requestRefold() }
        case 1: try key.foldPosted(event)
        case 2:
            let number = try key.foldObserved(event)
            key.state.newestComment = max(key.state.newestComment, number)
        case 3:
            let sighting = try event.decode(AnswerObserved.self).normalized()
            if !key.state.take(sighting, order: event.order) { key.requestRefold() }
        case 4: foldLike(try event.decode(LikeObserved.self).normalized(), into: &key)
        case 5:
            guard key.state.like.map({ $0.order < event.order }) ?? true else { return }
            var like = OwnToggle(event, isOn: try OwnToggle.isLiked(event.payload))
            like.outcome = try key.outcome(of: like.intent)
            key.state.like = like
        default:
            guard let (intent, outcome) = try key.takeOutcome(event),
                intent == key.state.like?.intent
            else { return }
            key.state.like?.outcome = outcome
        }
    }

    private func foldLike(_ like: LikeObserved, into key: inout KeyedState<State>) {
        let id = NaturalID.ordered(Array(like.like.utf8))
        let liker = AnswerItems.liker(like.user)
        if let held = key.item(liker) {
            guard id.lexicographicallyPrecedes(held) else { return }
            key.removeItem(AnswerItems.like(held, of: like.user))
        } else {
            key.state.likers += 1
        }
        key.setItem(liker, id)
        key.setItem(AnswerItems.like(id, of: like.user), Array(like.user.utf8))
    }

    /// Rows for an answer that was handed in or is shown by a remote.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.uploadedAt != nil || state.isSighted else { return }
        let number = NaturalID.number(key.name)
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0,
            key: RowKey().descending(state.uploadedAt ?? 0).descending(number).text(key.name),
            value: value.bytes)
        guard state.isSighted else { return }
        rows.add(table: 1, key: RowKey().descending(number).text(key.name))
    }
}

/// The names of an answer's items that are no comments.
enum AnswerItems {
    static let likes: [UInt8] = [UInt8(ascii: "k")]

    /// By the like's number, then by the user.
    static func like(_ id: [UInt8], of user: String) -> RowKey {
        RowKey(likes + id + [0] + user.utf8)
    }
    static let likers: [UInt8] = [UInt8(ascii: "u")]
    static func liker(_ user: String) -> RowKey { RowKey(likers + user.utf8) }
}

extension AnswerObserved: Sighting {
    static let sightingFields: [SightingField<AnswerObserved>] = [
        SightingField(\.answer),
        SightingField(\.question),
        SightingField("videoUrl", \.hasVideoURL, \.videoURL) { $0.clearVideoURL() },
        SightingField("thumbnailUrl", \.hasThumbnailURL, \.thumbnailURL) {
            $0.clearThumbnailURL()
        },
        SightingField("likeCount", \.hasLikeCount, \.likeCount) { $0.clearLikeCount() },
        SightingField("commentCount", \.hasCommentCount, \.commentCount) {
            $0.clearCommentCount()
        },
        SightingField(\.hasPostedAs, \.postedAs),
    ]
}

extension StateReader {
    /// A protobuf message, as `StateWriter.add(message:)` writes it.
    mutating func message<M: SwiftProtobuf.Message>() throws(ModelError) -> M {
        let bytes = try bytes()
        do {
            return try M(serializedBytes: bytes)
        } catch {
            throw ModelError(.damaged, "a state holds no \(M.protoMessageName)")
        }
    }
}

extension StateWriter {
    mutating func add(message: some SwiftProtobuf.Message) {
        // Writing fails only for required fields, which proto3 does not have.
        add((try? message.serializedBytes()) ?? [UInt8]())
    }
}
