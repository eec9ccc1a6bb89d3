package import TapedeckModel
internal import TapedeckProjections

/// A page of the user's accounts.
public struct AccountsPage: Codable, Hashable, Sendable {
    /// The accounts, sorted by system and nickname.
    public var accounts: [AccountEntry]
    /// The cursor of the next page; nil on the last page.
    @NullWhenNil public var next: String?
}

/// One of the user's accounts on a remote system.
public struct AccountEntry: Codable, Hashable, Sendable {
    /// The account's name in the system.
    public var account: String
    /// The name of the system.
    public var system: String
    /// The nickname that the system reports.
    ///
    /// If the system reports none, this is the part before the "@" in the email address or, if the
    /// address is unknown too, in the account's name.
    public var nickname: String
    /// The account's email address.
    @NullWhenNil public var email: String?
    /// The URL of the account's picture.
    @NullWhenNil public var image: String?
    /// The services linked to the account.
    public var services: [String]
    /// The account's channels.
    public var channels: [String]
    /// Whether the user is signed in with this account.
    public var isSignedIn: Bool
    /// The time at which the user last signed in or out.
    @NullWhenNil public var changedAt: UTCTime?

    /// The name by which the user knows the account, for messages.
    package var shown: String {
        nickname == account ? account : "\(nickname) (\(account))"
    }

    init(_ state: AccountList.State, _ system: String, _ account: String) {
        let shown = state.observations.merged
        self.account = account
        self.system = system
        nickname = AccountList.nickname(of: shown, account)
        services = shown?.services ?? []
        channels = shown?.channels ?? []
        isSignedIn = state.isSignedIn
        email = shown.flatMap { $0.hasEmail ? $0.email : nil }
        image = shown.flatMap { $0.hasImage ? $0.image : nil }
        changedAt = state.changedAt.map(UTCTime.init)
    }
}

/// The account whose changes a device makes at a system.
///
/// It is the account to which the device last signed in, and is still signed in if possible. A device
/// that has never signed in speaks for the owner of the store.
struct DeviceAccount {
    /// The account; nil before the first sign-in of any device.
    let entry: AccountEntry?
    /// Whether the store belongs to another account instead.
    let isReplaced: Bool
    /// The account that a change of this device belongs to now: that of its last sign-in, even if the
    /// user has signed out of this account only.
    fileprivate let author: String?
    fileprivate let signIns: SignIns
    fileprivate let device: OriginID?

    /// Returns whether a change belongs, or may belong, to another account, so that it is never sent
    /// from this one.
    func isOthers(_ change: EventID) -> Bool {
        author.map { signIns.isOthers(change, than: $0, on: device) } ?? false
    }

    /// Returns the name of the account that a change belongs to; nil if it is unknown.
    func author(of change: EventID) -> String? {
        isOthers(change) ? signIns.author(of: change)?.user : entry?.account
    }
}

extension VideoQueries {
    /// Returns the user's accounts, sorted by system and nickname.
    public func accounts(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> AccountsPage {
        let (rows, next) = try page(
            of: projections.accounts, table: AccountList.Table.byName, .accounts, limit: limit,
            cursor: cursor)
        return AccountsPage(accounts: try rows.map { try accountEntry($0) }, next: next)
    }

    /// Returns the account with which the user is signed in to a system, or nil if the user is not
    /// signed in.
    ///
    /// If stores with different logins have synced with each other, returns the account to which this
    /// device last signed in, and nil once the store belongs to another account. Costs one lookup per
    /// account of the system.
    public func signedInAccount(at system: String = BirdTube.system) throws -> AccountEntry? {
        try deviceAccount(at: system).entry.flatMap { $0.isSignedIn ? $0 : nil }
    }

    /// Returns the account whose changes this device makes at a system; see `DeviceAccount`.
    ///
    /// Costs one lookup per account of the system.
    func deviceAccount(at system: String) throws -> DeviceAccount {
        let all = try accounts(at: system)
        let last = reader.device.flatMap { lastAccount(of: $0, in: all) } ?? owners(in: all).first
        let signedIn = reader.device.flatMap { device in
            lastAccount(of: device, in: all.filter { $0.state.isSignedIn(on: device) })
        }
        let own = signedIn ?? last
        return DeviceAccount(
            entry: own?.entry, isReplaced: own?.state.isReplaced ?? false,
            author: last?.entry.account, signIns: signIns(to: all), device: reader.device)
    }

    /// Returns the signed-in accounts of a system, sorted by nickname.
    package func signedInAccounts(
        at system: String, limit: Int = QueryLimits.pageCountMax
    ) throws -> [AccountEntry] {
        let lower = RowKey().text(system.lowercased())
        return try reader.rows(
            of: projections.accounts, table: AccountList.Table.signedIn, lower: lower,
            upper: lower.end, after: nil, limit: limit
        ).map { try accountEntry($0) }
    }

    /// Returns the accounts that may be the owner of this store at a system.
    ///
    /// These are the accounts with which the user has signed in, except accounts that a later login
    /// has replaced, unless all of them have been replaced. There are several only if stores with
    /// different logins have synced with each other. Signed-in accounts come first, then the accounts
    /// whose last sign-in or sign-out was the earliest. The cost is one lookup per account of the
    /// system.
    package func owners(at system: String) throws -> [AccountEntry] {
        try owners(in: accounts(at: system)).map(\.entry)
    }

    private func owners(in accounts: [KnownAccount]) -> [KnownAccount] {
        let all = accounts.filter { $0.entry.changedAt != nil }
        let remaining = all.filter { !$0.state.isReplaced }
        return (remaining.isEmpty ? all : remaining).sorted { left, right in
            if left.entry.isSignedIn != right.entry.isSignedIn { return left.entry.isSignedIn }
            return (left.state.changedAt ?? 0) < (right.state.changedAt ?? 0)
        }
    }

    /// Returns the sign-ins to a system, including those to accounts that a later login has replaced.
    ///
    /// The cost is one lookup per account of the system.
    package func signIns(at system: String) throws -> SignIns {
        try signIns(to: accounts(at: system))
    }

    private func signIns(to accounts: [KnownAccount]) -> SignIns {
        let signedIn = accounts.filter { !$0.state.signIns.isEmpty }
        return SignIns(
            signedIn.map { entry, state in
                SignIns.Account(
                    user: entry.account, shown: entry.shown, events: state.signIns.map(\.event))
            })
    }

    /// Returns the accounts of a system to which a device is signed in: the user signed in there, and
    /// neither the device nor the user has signed out since.
    func accounts(signedInOn device: OriginID, at system: String) throws -> [AccountEntry] {
        try accounts(at: system).filter { $0.state.isSignedIn(on: device) }.map(\.entry)
    }

    /// Returns whether a device is signed in to an account, and has not signed in to another one since.
    func isSignedIn(_ account: String, on device: OriginID, at system: String) throws -> Bool {
        let last = try lastAccount(of: device, in: accounts(at: system))
        return last.map { $0.entry.account == account && $0.state.isSignedIn(on: device) } ?? false
    }

    /// Returns the account to which a device last signed in; nil if there is none.
    private func lastAccount(of device: OriginID, in accounts: [KnownAccount]) -> KnownAccount? {
        let own = accounts.compactMap { account in
            account.state.lastSignIn(on: device).map { (account, $0.sequence) }
        }
        return own.max { $0.1 < $1.1 }?.0
    }

    /// Returns the owner of this store among a system's accounts, or nil if the user has never
    /// signed in to the system; see `owners`.
    package func ownAccount(at system: String) throws -> AccountEntry? {
        try owners(at: system).first
    }

    /// Returns the account with which the user is signed in to a system.
    ///
    /// Throws `ModelError` with `.signInRequired` if the user is not signed in to the system. Costs
    /// one lookup.
    public func requireSignedIn(at system: String = BirdTube.system) throws -> AccountEntry {
        if let account = try signedInAccount(at: system) { return account }
        throw ModelError(
            .signInRequired, "not signed in to \(system.prefix(40))",
            hint: "sign in first; features that need no account still work")
    }

    /// Returns the account whose changes this device makes at a system.
    ///
    /// Throws `ModelError` with `.signInRequired` if the store belongs to another account instead: the
    /// device's changes would never be sent.
    @discardableResult
    func requireDeviceAccount(at system: String) throws -> DeviceAccount {
        let account = try deviceAccount(at: system)
        guard account.isReplaced else { return account }
        throw ModelError(
            .signInRequired,
            "not signed in to \(system.prefix(40)): this store now belongs to another account",
            hint: "sign in to the account that the store belongs to")
    }

    /// Returns the nickname of an account, or the part of its name before the "@" if no remote has
    /// shown the account.
    func nickname(of account: String, at system: String = BirdTube.system) throws -> String {
        guard let tag = try? AccountNames.tag(account, system) else {
            return Nickname.standing(for: account)
        }
        let state = try reader.state(of: projections.accounts, key: tag)
        return AccountList.nickname(of: state?.observations.merged, account)
    }

    /// Returns the entry for a row.
    func accountEntry(_ row: Row) throws -> AccountEntry { try account(row).entry }

    private typealias KnownAccount = (entry: AccountEntry, state: AccountList.State)

    private func accounts(at system: String) throws -> [KnownAccount] {
        let lower = RowKey().text(system.lowercased())
        return try reader.rows(
            of: projections.accounts, table: AccountList.Table.byName, lower: lower,
            upper: lower.end, after: nil, limit: QueryLimits.pageCountMax
        ).map(account)
    }

    private func account(_ row: Row) throws -> KnownAccount {
        try StateReader.read(row.value) { (reader) throws(ModelError) in
            let (system, account) = (try reader.string(), try reader.string())
            let state = try AccountList.State(reading: &reader)
            return (AccountEntry(state, system, account), state)
        }
    }
}
