package import TapedeckModel

extension SignIns {
    /// Returns whether an item of the outbox is pending: an intent that was confirmed is pending again
    /// only if an earlier intent of the same account was sent afterwards.
    package func isPending(_ item: OutboxItem) -> Bool {
        guard hasSeveral, !item.reopenedBy.isEmpty else { return true }
        let author = author(of: item.event)?.user
        return item.reopenedBy.contains { self.author(of: $0)?.user == author }
    }

    /// Returns the reason why a change must not be sent from an account; nil if there is none.
    ///
    /// - Parameters:
    ///   - change: The event with which the user made the change.
    ///   - user: The account's name on the remote.
    ///   - device: This device.
    package func refusal(
        of change: EventID, from user: String, at remote: Remote, on device: OriginID
    ) -> SyncFailure? {
        guard isOthers(change, than: user, on: device) else { return nil }
        guard let author = author(of: change) else {
            return SyncFailure(
                .conditionFailed,
                "the device that made this change has not logged in to \(own: remote.name), so it is"
                    + " unknown whose change it is; log in on that device, or drop the change")
        }
        return SyncFailure(
            .conditionFailed,
            "this change belongs to account \(author.shown), but this store belongs to another"
                + " account on \(own: remote.name); the change waits until you drop it")
    }
}
