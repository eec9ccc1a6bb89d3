internal import Crypto
internal import Foundation
internal import TapedeckModel

/// The secret that authenticates a device for one space.
///
/// The server stores only the hash of a token.
package enum SyncToken {
    /// The prefix that lets people and secret scanners recognize a token.
    static let prefix = "td_"
    private static let randomCount = 32

    /// Returns a new token: 256 random bits in base64url.
    static func random() -> String {
        var source = SystemRandomNumberGenerator()
        let bytes = (0..<randomCount).map { _ in UInt8.random(in: .min ... .max, using: &source) }
        let text = Data(bytes).base64EncodedString()
        return prefix
            + text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Returns the hash under which a token is stored and looked up.
    static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }

    static let hashCount = 32

    /// Returns the id that identifies a token in lists: the first eight bytes of its hash.
    static func id(ofHash hash: [UInt8]) -> String { Array(hash.prefix(8)).hex }
}

/// A new token, which is shown only once.
package struct NewToken: Sendable {
    package let token: String
    package let info: TokenInfo
}

/// The stored information about a token.
package struct TokenInfo: Hashable, Sendable {
    /// The id that `revokeToken` takes: 16 hexadecimal digits.
    package var id: String
    package var space: SpaceID
    package var spaceName: String
    package var name: String
    /// The creation time, in Unix milliseconds.
    package var createdAt: UInt64
    /// The time of revocation, in Unix milliseconds; nil while the token is valid.
    package var revokedAt: UInt64?
}
