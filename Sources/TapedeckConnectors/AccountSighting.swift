internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The facts about an account, as found in the responses to a login.
///
/// Unreadable fields are skipped, so that they do not make the login fail.
struct AccountSighting {
    private var sighting = AccountObserved()
    private var cleared: Set<String> = []

    init(_ account: String, at system: String) {
        (sighting.account, sighting.system) = (account, system)
    }

    /// Reads the account's fields, using the system's own names for them.
    mutating func take(
        _ user: JSONElement, nickname: String, email: String? = nil, image: String? = nil
    ) {
        if let value = try? user.text(nickname).value { sighting.nickname = value }
        if let email, let value = try? user.text(email).value { sighting.email = value }
        if let image, let value = try? user.url(image).value { sighting.image = value }
    }

    /// Sets the complete list of services linked to the account.
    mutating func take(services: [String]) {
        sighting.services = services
        if services.isEmpty { cleared.insert("services") }
    }

    /// Sets the complete list of the account's channels.
    mutating func take(channels: [String]) {
        sighting.channels = channels
        if channels.isEmpty { cleared.insert("channels") }
    }

    /// Returns the events to record, observed at the time of `response`; none if they exceed a
    /// limit.
    func proposals(_ response: RemoteResponse) -> [ProposedEvent] {
        var sighting = sighting
        sighting.cleared = cleared.sorted()
        let event = try? ProposedEvent(sighting: sighting, observedAt: response.date)
        return event.map { [$0] } ?? []
    }
}
