internal import SwiftProtobuf
public import TapedeckModel
public import TapedeckProjections

/// The user's accounts on remote systems, and whether the user is signed in to them.
///
/// The facts about an account are merged from all observations of the account. The projection
/// contains no credentials, because the events have no fields for them.
public struct AccountList: Projection {
    /// Creates the projection.
    public init() {}

    /// `accounts`.
    public var name: String { "accounts" }
    /// 3.
    public var version: Int { 3 }
    /// `account`.
    public var tagKind: String { "account" }
    /// Observations of accounts, sign-ins and sign-outs.
    public var eventTypes: [EventType] {
        [AccountObserved.eventType, SignedIn.eventType, SignedOut.eventType]
    }
    /// Events can be folded in any order: observations are merged field by field, only the last
    /// sign-in or sign-out counts, and the ids of the sign-ins are sorted.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        An account is merged from the observations of its system, field by field; the last \
        sign-in or sign-out determines whether the user is signed in.
        """
    }
    /// Two tables: all accounts by name, and the accounts to which the user is signed in.
    public var tables: [String] { ["by-name", "signed-in"] }

    /// The known facts about an account.
    public struct State: ProjectionState, Equatable {
        /// The observations of the account.
        var observations = ObservationStack<AccountObserved>()
        /// The order of the last sign-in or sign-out.
        private(set) var change: FoldOrder?
        /// Whether the user is signed in.
        public private(set) var isSignedIn = false
        /// Whether the store belongs to another account instead, according to the last sign-in or
        /// sign-out.
        private(set) var isReplaced = false
        /// The ids of the sign-ins, sorted.
        ///
        /// They show which changes of a device belong to this account.
        private(set) var signIns: [EventID] = []

        /// Creates the initial state.
        public init() {}

        /// The time of the last sign-in or sign-out, in Unix milliseconds.
        var changedAt: Int64? { change.map { Int64(clamping: $0.activityMilliseconds) } }

        fileprivate mutating func take(isIn: Bool, isReplaced: Bool, _ order: FoldOrder) {
            guard change.map({ $0 < order }) ?? true else { return }
            (change, isSignedIn, self.isReplaced) = (order, isIn, isReplaced)
        }

        fileprivate mutating func add(signIn: EventID) {
            let place = signIns.firstIndex { signIn < $0 }
            signIns.insert(signIn, at: place ?? signIns.endIndex)
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            observations = try ObservationStack(decoding: &bytes)
            change = try bytes.optional { (reader) throws(ModelError) in try reader.foldOrder() }
            isSignedIn = try bytes.bool()
            isReplaced = try bytes.bool()
            signIns = try bytes.array { (reader) throws(ModelError) in try reader.eventID() }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            observations.encode(into: &bytes)
            bytes.add(change) { $0.add($1) }
            bytes.add(isSignedIn)
            bytes.add(isReplaced)
            bytes.add(signIns) { $0.add($1) }
        }
    }

    /// Folds an observation, a sign-in or a sign-out.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let observation = try event.decode(AccountObserved.self).normalized()
            key.state.observations.add(observation, payload: event.payload, order: event.order)
        case 1:
            key.state.take(isIn: true, isReplaced: false, event.order)
            key.state.add(signIn: event.id)
        default:
            let signedOut = try event.decode(SignedOut.self)
            key.state.take(isIn: false, isReplaced: signedOut.hasReplacedBy, event.order)
        }
    }

    /// Adds a row for the account, and another row if the user is signed in.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        let (system, account) = AccountNames.parts(of: key)
        var value = StateWriter()
        value.add(system)
        value.add(account)
        state.encode(into: &value)
        let nickname = AccountList.nickname(of: state.observations.merged, account)
        let name = RowKey().text(system).text(nickname.lowercased()).text(account)
        rows.add(table: Table.byName, key: name, value: value.bytes)
        if state.isSignedIn {
            rows.add(table: Table.signedIn, key: name, value: value.bytes)
        }
    }

    /// Returns the nickname of an account.
    ///
    /// If the system does not report a nickname, it is derived from the email address, or from the
    /// account's name if the address is also unknown.
    static func nickname(of shown: AccountObserved?, _ account: String) -> String {
        if let shown, !shown.nickname.isEmpty { return shown.nickname }
        if let shown, !shown.email.isEmpty { return Nickname.standing(for: shown.email) }
        return Nickname.standing(for: account)
    }

    enum Table {
        static let byName = 0
        static let signedIn = 1
    }
}

extension AccountObserved: PartialObservation {
    static let clearable = [
        "nickname": 3, "email": 4, "image": 5, "services": 6, "channels": 7,
    ]

    static let observationFields: [ObservationField<AccountObserved>] = [
        ObservationField(\.account),
        ObservationField(\.system),
        ObservationField("nickname", \.hasNickname, \.nickname) { $0.clearNickname() },
        ObservationField("email", \.hasEmail, \.email) { $0.clearEmail() },
        ObservationField("image", \.hasImage, \.image) { $0.clearImage() },
        ObservationField("services", \.hasServices, \.services) { $0.services = [] },
        ObservationField("channels", \.hasChannels, \.channels) { $0.channels = [] },
    ]

    // Protobuf does not encode an empty list, so an empty list looks like a missing list.
    private var hasServices: Bool { !services.isEmpty }
    private var hasChannels: Bool { !channels.isEmpty }
}
