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
        let first = try signedInAccounts(at: system, limit: 1).first
        guard first != nil, let device = reader.device,
            let own = try lastAccount(of: device, at: system)
        else { return first }
        if own.entry.isSignedIn { return own.entry }
        return own.state.isReplaced ? nil : first
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
        let all = try accounts(at: system).filter { $0.entry.changedAt != nil }
        let remaining = all.filter { !$0.state.isReplaced }
        return (remaining.isEmpty ? all : remaining).map(\.entry).sorted { left, right in
            if left.isSignedIn != right.isSignedIn { return left.isSignedIn }
            return (left.changedAt?.milliseconds ?? 0) < (right.changedAt?.milliseconds ?? 0)
        }
    }

    /// Returns the accounts of a system with which users have signed in, and the events that record
    /// the sign-ins; contains accounts that a later login has replaced.
    ///
    /// The cost is one lookup per account of the system.
    package func signIns(at system: String) throws -> [(account: AccountEntry, events: [EventID])] {
        try accounts(at: system).compactMap { (entry, state) in
            state.signIns.isEmpty ? nil : (entry, state.signIns)
        }
    }

    /// Returns the account of a system to which a device last signed in; nil if there is none.
    package func lastSignIn(of device: OriginID, at system: String) throws -> String? {
        try lastAccount(of: device, at: system)?.entry.account
    }

    private func lastAccount(
        of device: OriginID, at system: String
    ) throws -> (entry: AccountEntry, state: AccountList.State)? {
        let own = try accounts(at: system).flatMap { account in
            account.state.signIns.filter { $0.origin == device }.map { (account, $0.sequence) }
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

    private func accounts(
        at system: String
    ) throws -> [(entry: AccountEntry, state: AccountList.State)] {
        let lower = RowKey().text(system.lowercased())
        return try reader.rows(
            of: projections.accounts, table: AccountList.Table.byName, lower: lower,
            upper: lower.end, after: nil, limit: QueryLimits.pageCountMax
        ).map(account)
    }

    private func account(_ row: Row) throws -> (entry: AccountEntry, state: AccountList.State) {
        try StateReader.read(row.value) { (reader) throws(ModelError) in
            let (system, account) = (try reader.string(), try reader.string())
            let state = try AccountList.State(reading: &reader)
            return (AccountEntry(state, system, account), state)
        }
    }
}
