internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The users, each merged from observations on remotes and local edits, and the questions asked
/// here.
///
/// The last change to a profile field wins. The time of an edit in this store is the time at which
/// the user made it. The time of a change on a remote is the time of the first observation that
/// shows the new value. A remote that continues to show an old value therefore does not undo an
/// edit, but a later change on the remote does. A question asked here is stored under its receiver
/// until a remote shows it or the user drops it. The items are outcomes; see `OutcomeItems`.
public struct UserList: Projection {
    /// Creates the projection.
    public init() {}

    /// `users`.
    public var name: String { "users" }
    /// 4.
    public var version: Int { 4 }
    /// `user`.
    public var tagKind: String { "user" }
    /// Observations of users, questions to users, edits, and outcomes.
    public var eventTypes: [EventType] {
        [
            UserObserved.eventType, QuestionObserved.eventType, QuestionAsked.eventType,
            ProfileEdited.eventType, IntentOutcome.eventType,
        ]
    }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The last change to each field wins. An edit has the time at which the user made it; a \
        change on the remote has the time of the first observation that shows the change.
        """
    }
    /// Three tables: all users by name, the account's own users, and questions that no remote shows
    /// yet.
    public var tables: [String] { ["by-name", "own", "asked"] }

    enum Table {
        static let own = 1
        static let asked = 2
    }

    /// The known facts about a user.
    public struct State: ProjectionState, Equatable {
        /// The merged observations of the user; its `user` is empty until a remote shows the user.
        var profile = UserObserved()
        /// For each field that was seen to change on a remote, the time at which the current value
        /// was first seen.
        private(set) var changes: [ProfileChange] = []
        /// The last edit of each field that the user has edited.
        private(set) var edits: [ProfileEdit] = []
        /// The questions asked here that no remote has shown, oldest first.
        var asked: [AskedQuestion] = []
        /// The ids of events whose questions were shown by a remote before the events arrived here.
        var shown: [String] = []

        /// Creates the initial state.
        public init() {}

        /// Returns the profile to display; nil if nothing is known about the user.
        func shownProfile(_ key: Tag) -> ShownProfile? {
            guard !profile.user.isEmpty || !edits.isEmpty else { return nil }
            var shown = ShownProfile(profile)
            shown.user.user = String(key.name)
            for edit in edits {
                let change = changes.first { $0.field == edit.field }
                guard change.map({ $0.at <= edit.at }) ?? true else { continue }
                edit.field.set(edit.value, in: &shown)
                if edit.field.shown(by: profile) != edit.value { shown.edited.append(edit.field) }
            }
            return shown
        }

        fileprivate mutating func take(_ observation: UserObserved, at milliseconds: Int64) {
            let before = profile
            profile.merge(newer: observation)
            for field in ProfileField.allCases {
                // The first known value of a field does not count as a change.
                guard let old = field.shown(by: before), field.shown(by: profile) != old
                else { continue }
                changes.removeAll { $0.field == field }
                changes.append(ProfileChange(field: field, at: milliseconds))
            }
        }

        fileprivate mutating func take(_ edit: ProfileEdited, at milliseconds: Int64) {
            for field in ProfileField.allCases {
                let value = field.written(by: edit)
                guard value != nil || edit.cleared.contains(field.rawValue) else { continue }
                edits.removeAll { $0.field == field }
                edits.append(ProfileEdit(field: field, at: milliseconds, value: value))
            }
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws {
            profile = try bytes.message()
            changes = try bytes.array { (reader) throws(ModelError) in
                ProfileChange(field: try reader.profileField(), at: try reader.int64())
            }
            edits = try bytes.array { (reader) throws(ModelError) in
                ProfileEdit(
                    field: try reader.profileField(), at: try reader.int64(),
                    value: try reader.optionalString())
            }
            asked = try bytes.array { (reader) throws(ModelError) in
                try AskedQuestion(decoding: &reader)
            }
            shown = try bytes.array { (reader) throws(ModelError) in try reader.string() }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(message: profile)
            bytes.add(changes) {
                $0.add($1.field.rawValue)
                $0.add($1.at)
            }
            bytes.add(edits) {
                $0.add($1.field.rawValue)
                $0.add($1.at)
                $0.add($1.value)
            }
            bytes.add(asked) { $1.encode(into: &$0) }
            bytes.add(shown) { $0.add($1) }
        }
    }

    /// Folds an observation, a question, an edit or an outcome; all observations come before local
    /// events.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            key.state.take(
                try event.decode(UserObserved.self).normalized(),
                at: Int64(clamping: event.order.observedVersion))
        case 1:
            let question = try event.decode(QuestionObserved.self).normalized()
            if question.hasPostedAs, !key.state.shown.contains(question.postedAs) {
                key.state.shown.append(question.postedAs)
            }
        case 3:
            key.state.take(
                try event.decode(ProfileEdited.self), at: Int64(event.stamp.milliseconds))
        case 4:
            guard let (intent, outcome) = try key.takeOutcome(event),
                let index = key.state.asked.firstIndex(where: { $0.intent == intent })
            else { return }
            if outcome.kind == .dropped {
                key.state.asked.remove(at: index)
            } else {
                key.state.asked[index].refusal = outcome.refusal
            }
        default:
            let id = event.id.description
            if let index = key.state.shown.firstIndex(of: id) {
                key.state.shown.remove(at: index)
                return
            }
            var asked = AskedQuestion(
                event: event.id, at: Int64(event.stamp.milliseconds),
                text: try event.decode(QuestionAsked.self).normalized().text)
            // The clocks of devices differ, so the outcome may be folded before the question.
            let outcome = try key.outcome(of: asked.intent)
            guard outcome?.kind != .dropped else { return }
            asked.refusal = outcome?.refusal
            key.state.asked.append(asked)
        }
    }

    /// Adds rows for a known user, and for each question that no remote shows yet.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for asked in state.asked {
            var value = StateWriter()
            value.add(String(key.name))
            asked.encode(into: &value)
            rows.add(
                table: Table.asked,
                key: RowKey().descending(asked.at).text(asked.event.description),
                value: value.bytes)
        }
        guard let shown = state.shownProfile(key) else { return }
        var value = StateWriter()
        shown.encode(into: &value)
        rows.add(
            table: 0, key: RowKey().text(shown.user.username.lowercased()).text(key.name),
            value: value.bytes)
        if shown.user.isOwn {
            rows.add(table: Table.own, key: RowKey().text(key.name), value: value.bytes)
        }
    }
}

/// A question asked here.
struct AskedQuestion: Equatable {
    var event: EventID
    /// The time in Unix milliseconds.
    var at: Int64
    var text: String
    /// The refusal by a remote; nil if the last outcome is not a refusal.
    var refusal: IntentOutcome?

    /// The event id, in the form that outcomes use.
    var intent: [UInt8] { event.textBytes }

    init(event: EventID, at: Int64, text: String) {
        self.event = event
        self.at = at
        self.text = text
    }

    init(decoding reader: inout StateReader) throws(ModelError) {
        event = try reader.eventID()
        at = try reader.int64()
        text = try reader.string()
        refusal = try reader.optional { (reader) throws(ModelError) in
            try IntentOutcome(decoding: try reader.bytes())
        }
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(at)
        writer.add(text)
        writer.add(refusal) { $0.add($1.encoded) }
    }
}

extension UserObserved: MergeableObservation {
    static let observationFields: [ObservationField<UserObserved>] = [
        ObservationField(\.user),
        ObservationField("username", \.hasUsername, \.username) { $0.clearUsername() },
        ObservationField("firstName", \.hasFirstName, \.firstName) { $0.clearFirstName() },
        ObservationField("lastName", \.hasLastName, \.lastName) { $0.clearLastName() },
        ObservationField("imageUrl", \.hasImageURL, \.imageURL) { $0.clearImageURL() },
        ObservationField("email", \.hasEmail, \.email) { $0.clearEmail() },
        ObservationField("followerCount", \.hasFollowerCount, \.followerCount) {
            $0.clearFollowerCount()
        },
        ObservationField("followingCount", \.hasFollowingCount, \.followingCount) {
            $0.clearFollowingCount()
        },
        ObservationField(\.hasIsOwn, \.isOwn),
    ]
}
