public import TapedeckModel
internal import TapedeckProjections
public import TapedeckSync

/// Why no outbox contains an event, for `storectl outbox explain`.
extension StoreRemotes {
    /// Returns the remotes that do not support the action of an event, such as comments.
    ///
    /// - Parameter deliveries: The deliveries of the event, from `deliveries(of:)`.
    @available(*, noasync)
    public func unsupported(
        for event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            guard try isPending(intent, at: remote) else { return false }
            return try !hasExpired(intent, at: remote) && !isReplaced(intent, at: remote)
        }
    }

    /// Returns the remotes for which an event became too old before it was sent; see
    /// `Connectors.watchedAgeMax`.
    ///
    /// - Parameter deliveries: The deliveries of the event, from `deliveries(of:)`.
    @available(*, noasync)
    public func expired(
        _ event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            try hasExpired(intent, at: remote)
        }
    }

    private func isPending(_ intent: Intent, at remote: Remote) throws -> Bool {
        let standing = try runner.standing(of: intent, in: Connectors.outboxes)
        return try standing.map { standing in
            try connection(with: remote).signIns().isPending(standing.item)
        } ?? false
    }

    private func hasExpired(_ intent: Intent, at remote: Remote) throws -> Bool {
        guard let outbox = Connectors.outboxes.first(where: { $0.tagKind == intent.key.kind }),
            let item = try runner.standing(of: intent, in: [outbox])?.item
        else { return false }
        return try outbox.isExpired(item, of: intent.event.type, at: log.now())
            && isSupported(intent, by: remote)
    }

    /// Returns whether a remote supports the action of an intent.
    private func isSupported(_ intent: Intent, by remote: Remote) throws -> Bool {
        guard let connector = connector(for: remote) else { return false }
        let account = try logins.read(remote)?.account ?? RemoteAccount(user: "", token: "")
        let plan = try runner.read(connector.lookups.map(\.name)) {
            try connector.plan(intent, $0, account)
        }
        if case .foreign = plan { return false }
        return true
    }

    /// The former name of `unsupported(for:besides:)`.
    @available(*, noasync)
    @available(*, deprecated, renamed: "unsupported(for:besides:)")
    public func withoutPlace(
        for event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try unsupported(for: event, besides: deliveries)
    }

    /// Returns the remotes for which a later intent superseded an event.
    ///
    /// - Parameter deliveries: The deliveries of the event, from `deliveries(of:)`.
    @available(*, noasync)
    public func superseding(
        _ event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            let isIntent = Connectors.outboxes.contains {
                $0.tagKind == intent.key.kind && $0.isIntent(event.type)
            }
            guard isIntent else { return false }
            return try (!isPending(intent, at: remote) || isReplaced(intent, at: remote))
                && isSupported(intent, by: remote)
        }
    }

    /// Returns whether a later intent replaces an intent of a type that is not a register.
    private func isReplaced(_ intent: Intent, at remote: Remote) throws -> Bool {
        guard let connector = connector(for: remote) else { return false }
        return try remoteOutbox(remote, connector).isReplaced(intent)
    }

    /// The former name of `superseding(_:besides:)`.
    @available(*, noasync)
    @available(*, deprecated, renamed: "superseding(_:besides:)")
    public func withoutNeed(
        of event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try superseding(event, besides: deliveries)
    }

    /// Returns the remotes that already show the effect of the intents derived from an event.
    ///
    /// - Parameter deliveries: The deliveries of the event, from `deliveries(of:)`.
    @available(*, noasync)
    public func showing(
        whatFollowsFrom event: EventEnvelope, besides deliveries: [RemoteDelivery]
    ) throws -> [Remote] {
        try remotes(of: event, besides: deliveries) { remote, intent in
            guard let connector = connector(for: remote) else { return false }
            return try runner.read(connector.lookups.map(\.name)) {
                try connector.showsWhatFollows(from: intent.event.id, of: intent.key, $0)
            }
        }
    }

    /// Returns the remotes that have no delivery for the event yet, that handle one of its tags,
    /// and that satisfy `isMeant`.
    private func remotes(
        of event: EventEnvelope, besides deliveries: [RemoteDelivery],
        _ isMeant: (Remote, Intent) throws -> Bool
    ) throws -> [Remote] {
        let told = Set(deliveries.map(\.remote))
        return try all().filter { remote in
            guard !told.contains(remote.name) else { return false }
            let kinds = connector(for: remote)?.manifest.intentKinds ?? []
            return try event.tags.contains {
                try kinds.contains(String($0.kind)) && isMeant(remote, Intent(event, key: $0))
            }
        }
    }
}
