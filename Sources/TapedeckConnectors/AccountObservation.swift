internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// The facts about an account, as found in the responses to a login.
///
/// Unreadable fields are skipped, so that they do not make the login fail.
struct AccountObservation {
    private var observation = AccountObserved()
    private var cleared: Set<String> = []

    init(_ account: String, at system: String) {
        (observation.account, observation.system) = (account, system)
    }

    /// Reads the account's fields, using the system's own names for them.
    mutating func take(
        _ user: JSONElement, nickname: String, email: String? = nil, image: String? = nil
    ) {
        if let value = try? user.text(nickname).value { observation.nickname = value }
        if let email, let value = try? user.text(email).value { observation.email = value }
        if let image, let value = try? user.url(image).value { observation.image = value }
    }

    /// Sets the complete list of services linked to the account.
    mutating func take(services: [String]) {
        observation.services = services
        if services.isEmpty { cleared.insert("services") }
    }

    /// Sets the complete list of the account's channels.
    mutating func take(channels: [String]) {
        observation.channels = channels
        if channels.isEmpty { cleared.insert("channels") }
    }

    /// Returns the events to record, observed at the time of `response`; none if they exceed a
    /// limit.
    func proposals(_ response: RemoteResponse) -> [ProposedEvent] {
        var observation = observation
        observation.cleared = cleared.sorted()
        let event = try? ProposedEvent(observation: observation, observedAt: response.date)
        return event.map { [$0] } ?? []
    }
}
