public import TapedeckModel

extension ContactNoted: VideoEvent {
    /// The event type `ContactNoted`.
    public static let eventType: EventType = "ContactNoted"

    /// `.latest`: the newest event about an address supersedes earlier ones.
    public static var retention: Retention { .latest }

    /// The tag of the address.
    public var tags: [Tag] { get throws { [try EmailAddress.tag(address)] } }

    /// Checks the address and the name, and removes superfluous whitespace from the name.
    ///
    /// An event that removes an address has no name.
    public func normalized() throws(ModelError) -> ContactNoted {
        var copy = self
        try FieldChecks.email(address, "address")
        try FieldChecks.text(name, "name")
        copy.name = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if removed || copy.name.isEmpty { copy.clearName() }
        return copy
    }
}

extension ContactObserved: Observation {
    /// The event type `ContactObserved`.
    public static let eventType: EventType = "ContactObserved"

    /// The tag of the address.
    public var tags: [Tag] { get throws { [try EmailAddress.tag(address)] } }

    /// The entity name, `<system>/contact/<address>`.
    public var entity: String {
        "\(system.lowercased())/contact/\(EmailAddress.name(of: address))"
    }

    /// Always nil, because systems do not keep versions of the addresses they remember.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the address and the system.
    public func normalized() throws(ModelError) -> ContactObserved {
        var copy = self
        try FieldChecks.email(address, "address")
        copy.system = try AccountNames.check(system: system)
        return copy
    }
}

/// Determines whether two email addresses are the same.
///
/// Addresses that differ only in case are the same address. The standard guarantees this only for
/// the part after the "@", but mail servers ignore case in the other part too.
enum EmailAddress {
    /// Returns the canonical form of an address, which is the same for all its spellings.
    static func name(of address: String) -> String { address.lowercased() }

    /// Returns `contact/<address>`.
    static func tag(_ address: String) throws(ModelError) -> Tag {
        try Tag("contact", name(of: address))
    }
}
