internal import SwiftProtobuf
public import TapedeckModel

extension AccountObserved: Observation {
    /// The event type `AccountObserved`.
    public static let eventType: EventType = "AccountObserved"

    /// The tag of the account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// The entity name, `<system>/account/<account>`.
    public var entity: String { "\(system.lowercased())/account/\(account)" }

    /// Always nil, because no system assigns versions to its accounts.
    public var remoteVersion: UInt64? { nil }

    /// The unit is one millisecond, because the version of an observation is its time in
    /// milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    /// Checks the names, the text fields and the URL, and removes unknown fields.
    ///
    /// An image URL with a user name or a password is refused with `.invalidPayload`, to keep
    /// secrets out of the log.
    public func normalized() throws(ModelError) -> AccountObserved {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        try FieldChecks.text(nickname, "nickname")
        try FieldChecks.text(email, "email")
        if hasImage {
            try FieldChecks.url(image, "image")
            guard !AccountNames.isSigned(image) else {
                throw FieldChecks.invalid("image", "contains a user name or a password")
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
    /// The event type `SignedIn`.
    public static let eventType: EventType = "SignedIn"

    /// The tag of the account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// Checks the names, and removes unknown fields.
    public func normalized() throws(ModelError) -> SignedIn {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        return copy
    }
}

extension SignedOut: VideoEvent {
    /// The event type `SignedOut`.
    public static let eventType: EventType = "SignedOut"

    /// The tag of the account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// Checks the names, and removes unknown fields.
    public func normalized() throws(ModelError) -> SignedOut {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        if hasReplacedBy { _ = try AccountNames.check(replacedBy, system) }
        return copy
    }
}

extension VisitStarted: VideoEvent {
    /// The event type `VisitStarted`.
    public static let eventType: EventType = "VisitStarted"

    /// The tag of the account.
    public var tags: [Tag] { get throws { [try AccountNames.tag(account, system)] } }

    /// Checks the names, and removes unknown fields.
    public func normalized() throws(ModelError) -> VisitStarted {
        var copy = self
        copy.unknownFields = SwiftProtobuf.UnknownStorage()
        copy.system = try AccountNames.check(account, system)
        return copy
    }
}

/// The format of account tags and the rules for account names.
enum AccountNames {
    /// Returns `account/<system>:<account>`.
    static func tag(_ account: String, _ system: String) throws(ModelError) -> Tag {
        try Tag("account", "\(system.lowercased()):\(account)")
    }

    /// Returns the system and the account of a tag.
    static func parts(of tag: Tag) -> (system: String, account: String) {
        let system = tag.name.prefix { $0 != ":" }
        return (String(system), String(tag.name.dropFirst(system.count + 1)))
    }

    /// Checks both names, and returns the system's name in lower case.
    static func check(_ account: String, _ system: String) throws(ModelError) -> String {
        try FieldChecks.id(account, "account")
        return try check(system: system)
    }

    /// Checks the name of a system, and returns it in lower case.
    static func check(system: String) throws(ModelError) -> String {
        let lower = system.lowercased()
        guard (1...VideoKey.providerBytesMax).contains(lower.utf8.count),
            lower.utf8.allSatisfy(VideoKey.isYouTubeByte)
        else {
            throw FieldChecks.invalid("system", "is not the name of a system, such as birdtube")
        }
        return lower
    }

    /// Returns whether a URL has a user name or a password before its host.
    static func isSigned(_ url: String) -> Bool {
        guard let scheme = url.range(of: "//") else { return false }
        return url[scheme.upperBound...].prefix { !"/?#".contains($0) }.contains("@")
    }
}
