internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// What the answers to a login show of an account.
///
/// What cannot be read is left out: a login does not fail for it.
struct AccountSighting {
    private var sighting = AccountObserved()
    private var cleared: Set<String> = []

    init(_ account: String, at system: String) {
        (sighting.account, sighting.system) = (account, system)
    }

    /// Takes the texts that the system has under these names.
    mutating func take(
        _ user: JSONElement, nickname: String, email: String? = nil, image: String? = nil
    ) {
        if let value = try? user.text(nickname).value { sighting.nickname = value }
        if let email, let value = try? user.text(email).value { sighting.email = value }
        if let image, let value = try? user.url(image).value { sighting.image = value }
    }

    /// The services that are linked with the account: all of them.
    mutating func take(services: [String]) {
        sighting.services = services
        if services.isEmpty { cleared.insert("services") }
    }

    /// The channels of the account: all of them.
    mutating func take(channels: [String]) {
        sighting.channels = channels
        if channels.isEmpty { cleared.insert("channels") }
    }

    /// What is to be recorded, as of the answer that was the last; nothing where it breaks a limit.
    func proposals(_ response: RemoteResponse) -> [ProposedEvent] {
        var sighting = sighting
        sighting.cleared = cleared.sorted()
        let event = try? ProposedEvent(sighting: sighting, observedAt: response.date)
        return event.map { [$0] } ?? []
    }
}
