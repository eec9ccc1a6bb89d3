internal import Crypto
internal import Foundation
internal import TapedeckModel

/// The secret with which a device speaks for one space.
///
/// Only its hash is ever stored.
package enum SyncToken {
    /// So that people, and scanners for secrets, know one when they see it.
    static let prefix = "td_"
    private static let randomCount = 32

    /// A fresh one: 256 random bits in base64url.
    static func random() -> String {
        var source = SystemRandomNumberGenerator()
        let bytes = (0..<randomCount).map { _ in UInt8.random(in: .min ... .max, using: &source) }
        let text = Data(bytes).base64EncodedString()
        return prefix
            + text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// What is stored of a token, and how it is looked up.
    static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    static let hashCount = 32

    /// How a token is named in lists: the first eight bytes of its hash.
    static func id(ofHash hash: [UInt8]) -> String { Array(hash.prefix(8)).hex }
}

/// A token as it is shown once.
package struct NewToken: Sendable {
    package let token: String
    package let info: TokenInfo
}

/// What is known of a token.
package struct TokenInfo: Hashable, Sendable {
    /// How `revokeToken` names it: 16 hexadecimal digits.
    package var id: String
    package var space: SpaceID
    package var spaceName: String
    package var name: String
    /// Unix milliseconds.
    package var createdAt: UInt64
    /// Unix milliseconds; nil while it counts.
    package var revokedAt: UInt64?
}
