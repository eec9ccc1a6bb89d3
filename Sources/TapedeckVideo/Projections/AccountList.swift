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
    /// 4.
    public var version: Int { 4 }
    /// `account`.
    public var tagKind: String { "account" }
    /// Observations of accounts, sign-ins and sign-outs.
    public var eventTypes: [EventType] {
        [AccountObserved.eventType, SignedIn.eventType, SignedOut.eventType]
    }
    /// Events can be folded in any order: observations are merged field by field, only the last
    /// sign-out counts, of the user or of a device, and the sign-ins are sorted.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        An account is merged from the observations of its system, field by field. The user is \
        signed in if there is a sign-in after the last sign-out, and the device of the sign-in has \
        not signed out since.
        """
    }
    /// Two tables: all accounts by name, and the accounts to which the user is signed in.
    public var tables: [String] { ["by-name", "signed-in"] }

    /// The known facts about an account.
    public struct State: ProjectionState, Equatable {
        /// The observations of the account.
        var observations = ObservationStack<AccountObserved>()
        /// The sign-ins, sorted by event id.
        ///
        /// They also show which changes of a device belong to this account.
        private(set) var signIns: [SignInMark] = []
        /// The order of the last sign-out on all devices.
        private var signOut: FoldOrder?
        /// Whether the last sign-out on all devices says that the store belongs to another account
        /// instead.
        private var signOutReplaces = false
        /// The last sign-out of each device that signed out alone, sorted by event id.
        private var deviceSignOuts: [SignInMark] = []

        /// Creates the initial state.
        public init() {}

        /// Whether the user is signed in.
        public var isSignedIn: Bool { signIns.contains(where: isValid) }
        /// Whether the store belongs to another account instead.
        var isReplaced: Bool { signOutReplaces && !signIns.contains(where: isAfterSignOut) }
        /// The time of the last sign-in or sign-out, in Unix milliseconds.
        var changedAt: Int64? {
            let changes = (signIns + deviceSignOuts).map(\.order) + [signOut].compactMap { $0 }
            return changes.max().map { Int64(clamping: $0.activityMilliseconds) }
        }

        /// Returns the last sign-in on a device, even if the user has signed out since.
        func lastSignIn(on device: OriginID) -> EventID? {
            signIns.last { $0.event.origin == device }?.event
        }

        /// Returns whether the user is signed in on a device.
        func isSignedIn(on device: OriginID) -> Bool {
            signIns.contains { $0.event.origin == device && isValid($0) }
        }

        private func isAfterSignOut(_ signIn: SignInMark) -> Bool {
            signOut.map { $0 < signIn.order } ?? true
        }

        private func isValid(_ signIn: SignInMark) -> Bool {
            isAfterSignOut(signIn)
                && !deviceSignOuts.contains {
                    $0.event.origin == signIn.event.origin && $0.event > signIn.event
                }
        }

        fileprivate mutating func add(signIn: SignInMark) {
            let place = signIns.firstIndex { signIn.event < $0.event }
            signIns.insert(signIn, at: place ?? signIns.endIndex)
        }

        fileprivate mutating func take(signOut order: FoldOrder, isReplaced: Bool) {
            guard signOut.map({ $0 < order }) ?? true else { return }
            (signOut, signOutReplaces) = (order, isReplaced)
        }

        /// Takes the sign-out of a device.
        ///
        /// Only the device's own sequence numbers decide which sign-ins it ends, so clocks do not
        /// matter.
        fileprivate mutating func take(deviceSignOut: SignInMark) {
            let device = deviceSignOut.event.origin
            let place =
                deviceSignOuts.firstIndex { $0.event.origin >= device } ?? deviceSignOuts.endIndex
            guard place < deviceSignOuts.endIndex, deviceSignOuts[place].event.origin == device
            else { return deviceSignOuts.insert(deviceSignOut, at: place) }
            if deviceSignOuts[place].event < deviceSignOut.event {
                deviceSignOuts[place] = deviceSignOut
            }
        }

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            observations = try ObservationStack(decoding: &bytes)
            signIns = try bytes.array { (reader) throws(ModelError) in
                try SignInMark(decoding: &reader)
            }
            signOut = try bytes.optional { (reader) throws(ModelError) in try reader.foldOrder() }
            signOutReplaces = try bytes.bool()
            deviceSignOuts = try bytes.array { (reader) throws(ModelError) in
                try SignInMark(decoding: &reader)
            }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            observations.encode(into: &bytes)
            bytes.add(signIns) { $1.encode(into: &$0) }
            bytes.add(signOut) { $0.add($1) }
            bytes.add(signOutReplaces)
            bytes.add(deviceSignOuts) { $1.encode(into: &$0) }
        }
    }

    /// Folds an observation, a sign-in or a sign-out.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        switch event.typeIndex {
        case 0:
            let observation = try event.decode(AccountObserved.self).normalized()
            key.state.observations.add(observation, payload: event.payload, order: event.order)
        case 1:
            key.state.add(signIn: SignInMark(event: event.id, order: event.order))
        default:
            let signedOut = try event.decode(SignedOut.self)
            if signedOut.deviceOnly {
                key.state.take(deviceSignOut: SignInMark(event: event.id, order: event.order))
            } else {
                key.state.take(signOut: event.order, isReplaced: signedOut.hasReplacedBy)
            }
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

/// A sign-in, or the sign-out of a device, and its place in the canonical order.
struct SignInMark: Equatable {
    var event: EventID
    var order: FoldOrder

    init(event: EventID, order: FoldOrder) { (self.event, self.order) = (event, order) }

    init(decoding reader: inout StateReader) throws(ModelError) {
        (event, order) = (try reader.eventID(), try reader.foldOrder())
    }

    func encode(into writer: inout StateWriter) {
        writer.add(event)
        writer.add(order)
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
