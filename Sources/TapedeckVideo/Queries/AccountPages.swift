internal import TapedeckModel
internal import TapedeckProjections

/// A page of the user's accounts.
public struct AccountsPage: Codable, Hashable, Sendable {
    /// The accounts, by their systems and names.
    public var accounts: [AccountEntry]
    /// The cursor of the next page; nil on the last.
    @NullWhenNil public var next: String?
}

/// An account of the user at a remote system.
public struct AccountEntry: Codable, Hashable, Sendable {
    /// The account, by its system's name for it.
    public var account: String
    /// The system.
    public var system: String
    /// What it is called; where its system does not say, what stands before the "@" of its address.
    public var nickname: String
    /// Its address for e-mail.
    @NullWhenNil public var email: String?
    /// Where its picture is.
    @NullWhenNil public var image: String?
    /// The services that are linked with it.
    public var services: [String]
    /// Its channels.
    public var channels: [String]
    /// Whether the user is signed in with it.
    public var isSignedIn: Bool
    /// When the user signed in or out last.
    @NullWhenNil public var changedAt: UTCTime?

    init(_ state: AccountList.State, _ system: String, _ account: String) {
        let shown = state.sightings.merged
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
    /// The user's accounts, by their systems and names.
    public func accounts(
        limit: Int = QueryLimits.pageCountDefault, cursor: String? = nil
    ) throws -> AccountsPage {
        let (rows, next) = try page(
            of: projections.accounts, table: AccountList.Table.byName, .accounts, limit: limit,
            cursor: cursor)
        return AccountsPage(accounts: try rows.map { try accountEntry($0) }, next: next)
    }

    /// The account of a system with which the user is signed in, the first by name; nil where there is none.
    ///
    /// Costs a look-up.
    public func signedInAccount(at system: String = BirdTube.system) throws -> AccountEntry? {
        try signedInAccounts(at: system, limit: 1).first
    }

    /// The accounts of a system with which the user is signed in, by name.
    func signedInAccounts(
        at system: String, limit: Int = QueryLimits.pageCountMax
    ) throws -> [AccountEntry] {
        let lower = RowKey().text(system.lowercased())
        return try reader.rows(
            of: projections.accounts, table: AccountList.Table.signedIn, lower: lower,
            upper: lower.end, after: nil, limit: limit
        ).map { try accountEntry($0) }
    }

    /// The account of a system to which this store belongs; nil if the user has never signed in there.
    ///
    /// It is the one with which the user is signed in, or else the one with which they were last. Costs a look-up for
    /// each account of the system.
    package func ownAccount(at system: String) throws -> AccountEntry? {
        let lower = RowKey().text(system.lowercased())
        let known = try reader.rows(
            of: projections.accounts, table: AccountList.Table.byName, lower: lower,
            upper: lower.end, after: nil, limit: QueryLimits.pageCountMax
        ).map { try accountEntry($0) }.filter { $0.changedAt != nil }
        let former = known.max {
            ($0.changedAt?.milliseconds ?? 0) < ($1.changedAt?.milliseconds ?? 0)
        }
        return known.first(where: \.isSignedIn) ?? former
    }

    /// The account of a system with which the user is signed in.
    ///
    /// Throws `ModelError` with `.signInRequired` where there is none. Costs a look-up.
    public func requireSignedIn(at system: String = BirdTube.system) throws -> AccountEntry {
        if let account = try signedInAccount(at: system) { return account }
        throw ModelError(
            .signInRequired, "nobody is signed in at \(system.prefix(40))",
            hint: "sign in there first; what does not need an account works without")
    }

    /// What an account is called; for one that no sighting told of, what stands before its "@".
    func nickname(of account: String, at system: String = BirdTube.system) throws -> String {
        guard let tag = try? AccountNames.tag(account, system) else {
            return Nickname.standing(for: account)
        }
        let state = try reader.state(of: projections.accounts, key: tag)
        return AccountList.nickname(of: state?.sightings.merged, account)
    }

    /// The account of a row.
    func accountEntry(_ row: Row) throws -> AccountEntry {
        try StateReader.read(row.value) { (reader) throws(ModelError) in
            let (system, account) = (try reader.string(), try reader.string())
            return AccountEntry(try AccountList.State(reading: &reader), system, account)
        }
    }
}
