internal import TapedeckModel

/// A set of events that ended the logins of all devices to a remote.
///
/// A log that contains an event also contains all earlier events of the same origin. The last event
/// of each origin therefore represents the earlier ones, and the set stays small.
package struct LoginEnds: Codable, Hashable, Sendable {
    /// The last event of each origin, in ascending order.
    private(set) var last: [EventID]

    init(_ last: [EventID] = []) { self.last = last }

    /// Adds an event.
    mutating func insert(_ event: EventID) {
        if let index = last.firstIndex(where: { $0.origin == event.origin }) {
            last[index] = max(last[index], event)
        } else {
            last.append(event)
            last.sort()
        }
    }

    /// Returns whether the set contains all events of another set.
    func isSuperset(of other: LoginEnds) -> Bool {
        other.last.allSatisfy { event in
            last.contains { $0.origin == event.origin && $0 >= event }
        }
    }

    // MARK: - Login files

    package init(from decoder: any Decoder) throws {
        let texts = try decoder.singleValueContainer().decode([String].self)
        self.init()
        for text in texts {
            guard let event = EventID(text) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "not an event id"))
            }
            insert(event)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(last.map(\.description))
    }
}

extension RemoteLogin {
    /// Returns whether the user has ended the login: whether any of the events was unknown to the
    /// device when the user logged in.
    ///
    /// Clocks do not matter. An event that is concurrent with the login also ends it, so the user
    /// may have to log in once more.
    package func isEnded(by ends: LoginEnds) -> Bool {
        !(knownEnds ?? LoginEnds()).isSuperset(of: ends)
    }
}
