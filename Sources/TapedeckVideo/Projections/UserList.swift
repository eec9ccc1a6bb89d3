internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The users that remotes tell of, each the sum of their sightings, and what they were asked from here.
///
/// A question that was asked here lies under its receiver until a remote shows it.
public struct UserList: Projection {
    /// Makes the projection.
    public init() {}

    /// `users`.
    public var name: String { "users" }
    /// 2.
    public var version: Int { 2 }
    /// `user`.
    public var tagKind: String { "user" }
    /// Sightings of users, and questions to them.
    public var eventTypes: [EventType] {
        [UserObserved.eventType, QuestionObserved.eventType, QuestionAsked.eventType]
    }
    /// Three: all by their names, the account's own, and questions that wait to be shown.
    public var tables: [String] { ["by-name", "own", "asked"] }

    /// What is known of a user.
    public struct State: ProjectionState, Equatable {
        /// All that remotes have shown; its `user` is empty while they have shown nothing.
        var profile = UserObserved()
        /// Questions that were asked here and that no remote has shown, the oldest first.
        var asked: [AskedQuestion] = []
        /// Events of questions that a remote has shown, and that have not come here yet.
        var shown: [String] = []

        /// Nothing.
        public init() {}

        /// Reads a state's bytes.
        public init(decoding bytes: inout StateReader) throws {
            profile = try bytes.message()
            asked = try bytes.array { (reader) throws(ModelError) in
                try AskedQuestion(decoding: &reader)
            }
            shown = try bytes.array { (reader) throws(ModelError) in try reader.string() }
        }

        /// Writes the state's bytes.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(message: profile)
            bytes.add(asked) { $1.encode(into: &$0) }
            bytes.add(shown) { $0.add($1) }
        }
    }

    /// Folds a sighting or a question; all sightings come before all questions.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0: key.state.profile.merge(newer: try event.decode(UserObserved.self).normalized())
        case 1:
            let question = try event.decode(QuestionObserved.self).normalized()
            if question.hasPostedAs, !key.state.shown.contains(question.postedAs) {
                key.state.shown.append(question.postedAs)
            }
        default:
            let id = event.id.description
            if let index = key.state.shown.firstIndex(of: id) {
                key.state.shown.remove(at: index)
                return
            }
            key.state.asked.append(
                AskedQuestion(
                    event: event.id, at: Int64(event.stamp.milliseconds),
                    text: try event.decode(QuestionAsked.self).normalized().text))
        }
    }

    /// Rows for a user who was shown, and for each question that waits to be.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        for asked in state.asked {
            var value = StateWriter()
            value.add(String(key.name))
            asked.encode(into: &value)
            rows.add(
                table: 2, key: RowKey().descending(asked.at).text(asked.event.description),
                value: value.bytes)
        }
        guard !state.profile.user.isEmpty else { return }
        var value = StateWriter()
        value.add(message: state.profile)
        rows.add(
            table: 0, key: RowKey().text(state.profile.username.lowercased()).text(key.name),
            value: value.bytes)
        if state.profile.isOwn {
            rows.add(table: 1, key: RowKey().text(key.name), value: value.bytes)
        }
    }
}

/// A question that was asked here.
struct AskedQuestion: Equatable {
    var event: EventID
    /// Unix milliseconds.
    var at: Int64
    var text: String

    init(event: EventID, at: Int64, text: String) {
        self.event = event
        self.at = at
        self.text = text
    }

    init(decoding reader: inout StateReader) throws(ModelError) {
        event = try reader.eventID()
        at = try reader.int64()
        text = try reader.string()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(at)
        writer.add(text)
    }
}

extension UserObserved: Sighting {
    static let sightingFields: [SightingField<UserObserved>] = [
        SightingField(\.user),
        SightingField("username", \.hasUsername, \.username) { $0.clearUsername() },
        SightingField("firstName", \.hasFirstName, \.firstName) { $0.clearFirstName() },
        SightingField("lastName", \.hasLastName, \.lastName) { $0.clearLastName() },
        SightingField("imageUrl", \.hasImageURL, \.imageURL) { $0.clearImageURL() },
        SightingField("email", \.hasEmail, \.email) { $0.clearEmail() },
        SightingField("followerCount", \.hasFollowerCount, \.followerCount) {
            $0.clearFollowerCount()
        },
        SightingField("followingCount", \.hasFollowingCount, \.followingCount) {
            $0.clearFollowingCount()
        },
        SightingField(\.hasIsOwn, \.isOwn),
    ]
}
