internal import SwiftProtobuf
public import TapedeckModel

extension AccountObserved: Observation {
    /// `AccountObserved`.
    public static let eventType: EventType = "AccountObserved"

    /// The account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// `<system>/account/<account>`.
    public var entity: String { "\(system.lowercased())/account/\(account)" }

    /// None: no system tells of changes.
    public var remoteVersion: UInt64? { nil }

    /// Sightings are told apart by the time at which they were made, in milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the names, the texts and the address, and leaves out what the message has no field for.
    ///
    /// An address that holds a user or a password is refused with `.invalidPayload`: no secret comes into
    /// the log.
    public func normalized() throws(ModelError) -> AccountObserved {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        try FieldChecks.text(nickname, "nickname")
        try FieldChecks.text(email, "email")
        if hasImage {
            try FieldChecks.url(image, "image")
            guard !AccountNames.isSigned(image) else {
                throw FieldChecks.invalid("image", "holds the name or the password of a user")
            }
        }
        for (names, field) in [(services, "services"), (channels, "channels")] {
            try FieldChecks.list(names.count, field)
            for name in names { try FieldChecks.id(name, field) }
        }
        try FieldChecks.cleared(cleared)
        return copy
    }
}

extension SignedIn: VideoEvent {
    /// `SignedIn`.
    public static let eventType: EventType = "SignedIn"

    /// The account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// Checks the names, and leaves out what the message has no field for.
    public func normalized() throws(ModelError) -> SignedIn {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        return copy
    }
}

extension SignedOut: VideoEvent {
    /// `SignedOut`.
    public static let eventType: EventType = "SignedOut"

    /// The account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// Checks the names, and leaves out what the message has no field for.
    public func normalized() throws(ModelError) -> SignedOut {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        return copy
    }
}

/// How accounts are named.
enum AccountNames {
    /// `account/<system>:<account>`.
    static func tag(_ account: String, _ system: String) throws(ModelError) -> Tag {
        try Tag("account", "\(system.lowercased()):\(account)")
    }

    /// The system and the account of a tag.
    static func parts(of tag: Tag) -> (system: String, account: String) {
        let system = tag.name.prefix { $0 != ":" }
        return (String(system), String(tag.name.dropFirst(system.count + 1)))
    }

    /// Checks both names; gives the system's in lower case.
    static func check(_ account: String, _ system: String) throws(ModelError) -> String {
        try FieldChecks.id(account, "account")
        let lower = system.lowercased()
        guard (1...VideoKey.providerBytesMax).contains(lower.utf8.count),
            lower.utf8.allSatisfy(VideoKey.isYouTubeByte)
        else {
            throw FieldChecks.invalid("system", "is not the name of a system, such as birdtube")
        }
        return lower
    }

    /// Whether the host of an address has a user or a password in front.
    static func isSigned(_ url: String) -> Bool {
        guard let scheme = url.range(of: "//") else { return false }
        return url[scheme.upperBound...].prefix { !"/?#".contains($0) }.contains("@")
    }
}
