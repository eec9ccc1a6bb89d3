internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The answers that were uploaded or that remotes show, with their comments and likes.
///
/// Items: comments and outcomes, as described in `CommentedState`, and
///
/// | name | value |
/// |---|---|
/// | `v` user 0 like-id | the order of the newest observation of a like that a remote shows |
/// | `w` user 0 like-id | the same for a like that the remote no longer shows |
/// | `u` user | the lowest id of the user's `v` items |
/// | `k` like-id user | the user, for each `u` item |
///
/// If the same user likes the answer again, the user is therefore not added again and keeps the
/// same position.
///
/// While an answer is removed, all its items have the names that `HiddenItems` defines, so no list
/// or search contains its comments and likes. A removal costs time proportional to the number of
/// items.
///
/// Table 0 contains the answers, latest upload first. Answers without a known upload time come
/// last, highest number first. Table 1 contains the answers that remotes show, highest number
/// first.
public struct AnswerList: Projection {
    /// Creates the projection.
    public init() {}

    /// `answers`.
    public var name: String { "answers" }
    /// 9.
    public var version: Int { 9 }
    /// `answer`.
    public var tagKind: String { "answer" }
    /// The event types of uploads, comments, observations, likes and outcomes.
    public var eventTypes: [EventType] {
        [
            AnswerUploaded.eventType, CommentPosted.eventType, CommentObserved.eventType,
            AnswerObserved.eventType, LikeObserved.eventType, LikeToggled.eventType,
            IntentOutcome.eventType,
        ]
    }
    /// Events can be folded in any order, because an upload or observation that arrives out of
    /// order requests a refold.
    ///
    /// Observed likes of different users are independent of each other. The own likes depend only on
    /// the last toggle of each device and its last outcome.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        An answer is merged from its observations and uploads; newer ones override older ones. \
        An answer, a comment or a like is not shown if its newest observation reports a removal. \
        A comment that the user drops is not shown either. \
        The comments and likes of a removed answer are not shown either. Each comment and each liker is counted once. The user's last toggle determines whether the answer is liked.
        """
    }
    /// Two tables: all answers, and the answers that remotes show.
    public var tables: [String] { ["newest-first", "by-number"] }
    /// The comments on an answer, and the users who like it.
    public var followedItems: [[UInt8]] {
        CommentItems.lists + [AnswerItems.likers, AnswerItems.likes]
    }
    /// Always true, because the user may like an answer that has no row yet.
    public var statesAreFollowed: Bool { true }

    /// The known facts about an answer.
    public struct State: CommentedState, Equatable {
        /// The time of the first upload, in Unix milliseconds; nil if there was none.
        var uploadedAt: Int64?
        var uploaded = AnswerUploaded()
        private(set) var uploadedOrder: FoldOrder?
        /// The merged observations of the answer.
        var observation = AnswerObserved()
        private(set) var observationOrder: FoldOrder?
        var posted: UInt64 = 0
        var observed: UInt64 = 0
        var removed: UInt64 = 0
        var echoed: UInt64 = 0
        var outcomes: UInt64 = 0
        /// The highest comment number that remotes have shown.
        var newestComment: UInt64 = 0
        /// The number of users whose likes appear on remotes, also while the answer is removed.
        var likers: UInt64 = 0
        /// The last like or unlike of each device, sorted by device.
        ///
        /// The devices may be signed in to different accounts, and the fold does not know whose
        /// change a toggle is.
        private(set) var likes: [OwnToggle] = []

        /// Creates the initial state.
        public init() {}

        var isSighted: Bool { observationOrder != nil }
        /// Whether the remote has removed the answer, which hides its comments and likes.
        var isRemoved: Bool { observation.removed }
        /// Whether lists include the answer.
        var isListed: Bool { (uploadedAt != nil || isSighted) && !isRemoved }
        var question: String? {
            isSighted ? observation.question : uploadedAt == nil ? nil : uploaded.question
        }
        var videoURL: String? {
            observation.hasVideoURL
                ? observation.videoURL : uploaded.hasVideoURL ? uploaded.videoURL : nil
        }
        var thumbnailURL: String? {
            observation.hasThumbnailURL
                ? observation.thumbnailURL : uploaded.hasThumbnailURL ? uploaded.thumbnailURL : nil
        }

        /// Returns the last like or unlike that belongs to an account; nil if there is none.
        func like(of account: DeviceAccount) -> OwnToggle? {
            likes.filter { !account.isOthers($0.event) }.max { $0.order < $1.order }
        }

        fileprivate mutating func take(_ like: OwnToggle) {
            let device = like.event.origin
            let place = likes.firstIndex { $0.event.origin >= device } ?? likes.endIndex
            guard place < likes.endIndex, likes[place].event.origin == device else {
                return likes.insert(like, at: place)
            }
            if likes[place].order < like.order { likes[place] = like }
        }

        fileprivate mutating func take(_ outcome: IntentOutcome, of intent: [UInt8]) {
            guard let place = likes.firstIndex(where: { $0.intent == intent }) else { return }
            likes[place].outcome = outcome
        }

        /// Merges an upload; returns false if a later one has already been merged.
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

        /// Merges an observation; returns false if a newer one has already been merged.
        fileprivate mutating func take(_ observation: AnswerObserved, order: FoldOrder) -> Bool {
            if let last = observationOrder, order <= last { return order == last }
            observationOrder = order
            self.observation.merge(newer: observation)
            if observation.removed {
                self.observation.removed = true
            } else {
                self.observation.clearRemoved()
            }
            return true
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            uploadedAt = try bytes.optionalInt64()
            uploaded = try bytes.message()
            uploadedOrder = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            observation = try bytes.message()
            observationOrder = try bytes.optional { (reader) throws(ModelError) in
                try reader.foldOrder()
            }
            posted = try bytes.uint64()
            observed = try bytes.uint64()
            removed = try bytes.uint64()
            echoed = try bytes.uint64()
            outcomes = try bytes.uint64()
            newestComment = try bytes.uint64()
            likers = try bytes.uint64()
            likes = try bytes.array { (reader) throws(ModelError) in
                try OwnToggle(decoding: &reader)
            }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(uploadedAt)
            bytes.add(message: uploaded)
            bytes.add(uploadedOrder) { $0.add($1) }
            bytes.add(message: observation)
            bytes.add(observationOrder) { $0.add($1) }
            bytes.add(posted)
            bytes.add(observed)
            bytes.add(removed)
            bytes.add(echoed)
            bytes.add(outcomes)
            bytes.add(newestComment)
            bytes.add(likers)
            bytes.add(likes) { $1.encode(into: &$0) }
        }
    }

    /// Folds an upload, an observation, a comment, a like or an outcome.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        let wasRemoved = key.state.isRemoved
        if wasRemoved {
            var hidden = KeyedState(
                key: key.key, state: key.state, items: HiddenItems(key.items))
            try take(event, into: &hidden)
            key.state = hidden.state
            if hidden.wantsRefold { key.requestRefold() }
        } else {
            try take(event, into: &key)
        }
        let isRemoved = key.state.isRemoved
        if isRemoved != wasRemoved { HiddenItems.move(key.items, hiding: isRemoved) }
    }

    private func take(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
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
            let observation = try event.decode(AnswerObserved.self).normalized()
            if !key.state.take(observation, order: event.order) { key.requestRefold() }
        case 4:
            foldLike(
                try event.decode(LikeObserved.self).normalized(), order: event.order, into: &key)
        case 5:
            var like = OwnToggle(event, isOn: try OwnToggle.isLiked(event.payload))
            like.outcome = try key.outcome(of: like.intent)
            key.state.take(like)
        default:
            guard let (intent, outcome, isLatest) = try key.foldOutcome(event), isLatest
            else { return }
            key.state.take(outcome, of: intent)
        }
    }

    private func foldLike(
        _ like: LikeObserved, order: FoldOrder, into key: inout KeyedState<State>
    ) {
        let id = NaturalID.ordered(Array(like.like.utf8))
        let (shown, removed) = AnswerItems.observations(like.user)
        let (shownName, removedName) = (RowKey(shown + id), RowKey(removed + id))
        let known = (key.item(shownName) ?? key.item(removedName)).flatMap { FoldOrder(item: $0) }
        if let known, order <= known { return }
        key.removeItem(like.removed ? shownName : removedName)
        key.setItem(like.removed ? removedName : shownName, order.item)
        // The user is listed once, by the first of their likes that the remote shows.
        let liker = AnswerItems.liker(like.user)
        let held = key.item(liker)
        let first = key.firstItem(prefix: RowKey(shown)).map { Array($0.name[shown.count...]) }
        guard first != held else { return }
        if let held {
            key.removeItem(AnswerItems.like(held, of: like.user))
            key.state.likers -= 1
        }
        if let first {
            key.setItem(liker, first)
            key.setItem(AnswerItems.like(first, of: like.user), Array(like.user.utf8))
            key.state.likers += 1
        } else {
            key.removeItem(liker)
        }
    }

    /// Adds rows for an answer that was uploaded or that a remote shows, unless the remote has
    /// removed it.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard state.isListed else { return }
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

/// The names of the items for an answer's likes.
enum AnswerItems {
    static let likes: [UInt8] = [UInt8(ascii: "k")]

    /// Returns a name that sorts by the number of the like, then by user.
    static func like(_ id: [UInt8], of user: String) -> RowKey {
        RowKey(likes + id + [0] + user.utf8)
    }
    /// Returns two name prefixes for a user's likes: one for the likes that a remote shows, and one
    /// for the likes that it no longer shows.
    static func observations(_ user: String) -> (shown: [UInt8], removed: [UInt8]) {
        (shownLikes + user.utf8 + [0], [UInt8(ascii: "w")] + user.utf8 + [0])
    }
    /// The name prefix of the likes of all users that a remote shows.
    static let shownLikes: [UInt8] = [UInt8(ascii: "v")]
    static let likers: [UInt8] = [UInt8(ascii: "u")]

    /// Returns the like and the user in a name with the prefix `shownLikes`.
    static func like(ofName name: [UInt8]) -> (like: String, user: String)? {
        guard let end = name.firstIndex(of: 0) else { return nil }
        return (
            NaturalID.id(Array(name[(end + 1)...])).utf8Text, Array(name[1..<end]).utf8Text
        )
    }

    static func liker(_ user: String) -> RowKey { RowKey(likers + user.utf8) }
}

extension AnswerObserved: MergeableObservation {
    static let observationFields: [ObservationField<AnswerObserved>] = [
        ObservationField(\.answer),
        ObservationField(\.question),
        ObservationField("videoUrl", \.hasVideoURL, \.videoURL) { $0.clearVideoURL() },
        ObservationField("thumbnailUrl", \.hasThumbnailURL, \.thumbnailURL) {
            $0.clearThumbnailURL()
        },
        ObservationField("likeCount", \.hasLikeCount, \.likeCount) { $0.clearLikeCount() },
        ObservationField("commentCount", \.hasCommentCount, \.commentCount) {
            $0.clearCommentCount()
        },
        ObservationField(\.hasPostedAs, \.postedAs),
    ]
}

extension StateReader {
    /// Reads a protobuf message written by `StateWriter.add(message:)`.
    mutating func message<M: SwiftProtobuf.Message>() throws(ModelError) -> M {
        let bytes = try bytes()
        do {
            return try M(serializedBytes: bytes)
        } catch {
            throw ModelError(.damaged, "a state does not contain a valid \(M.protoMessageName)")
        }
    }
}

extension StateWriter {
    mutating func add(message: some SwiftProtobuf.Message) {
        // Serialization fails only for missing required fields, which proto3 does not have.
        add((try? message.serializedBytes()) ?? [UInt8]())
    }
}
