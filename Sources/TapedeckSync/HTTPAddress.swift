internal import Foundation
internal import TapedeckModel

/// A server address to which secrets can safely be sent.
package struct HTTPAddress: Hashable, Sendable {
    /// The maximum length in bytes; it is limited because a store remembers servers by address.
    static let bytesMax = 300

    /// The maximum length of an address quoted in an error, in characters.
    private static let shownMax = 100

    /// The address with scheme and host in lowercase, without a trailing slash.
    let base: String

    /// Checks an address; plain `http` is allowed only for this machine, because requests contain a
    /// token.
    ///
    /// Throws `SyncError` with `.usage`.
    package init(_ address: String) throws(SyncError) {
        // Errors quote the address, but omit every part that may contain a secret.
        if address.contains("@") {
            throw SyncError(
                .usage, "the address contains a user name or password",
                hint: "remove the user name and password; use a token for a server,"
                    + " storectl login for a remote")
        }
        let shown = HTTPAddress.shown(address)
        guard address.utf8.count <= HTTPAddress.bytesMax else {
            throw SyncError(
                .usage,
                "\"\(shown)\" is \(address.utf8.count) bytes long;"
                    + " the limit for an address is \(HTTPAddress.bytesMax)",
                hint: "use an address such as http://127.0.0.1:8080")
        }
        guard var url = URLComponents(string: address), let scheme = url.scheme?.lowercased(),
            let host = url.host?.lowercased(), !host.isEmpty,
            scheme == "http" || scheme == "https", url.query == nil, url.fragment == nil
        else {
            throw SyncError(
                .usage,
                address.contains { "?#".contains($0) }
                    ? "the address \"\(shown)\" has a query or a fragment"
                    : "\"\(shown)\" is not a valid server address",
                hint: "use an address such as http://127.0.0.1:8080")
        }
        if let port = HTTPAddress.port(of: address), UInt16(port) ?? 0 == 0 {
            throw SyncError(
                .usage, "\"\(port.prefix(40))\" in \(address) is not a valid port",
                hint: "use a port from 1 to 65535")
        }
        let isLocal = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
        guard scheme == "https" || isLocal else {
            throw SyncError(
                .usage, "\(address) would send the token unencrypted over the network",
                hint: "use https, or a tunnel that ends on this machine")
        }
        url.scheme = scheme
        url.percentEncodedHost = url.percentEncodedHost?.lowercased()
        var base = url.string ?? address
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
    }

    /// Returns text that the user gave as an address or as a remote's name, for messages: shortened,
    /// and without the user name, password, query and fragment of an address.
    package static func shown(_ text: String) -> String {
        let open = withoutLogin(text)
        let shown = open.prefix { !"?#".contains($0) }.prefix(shownMax)
        return shown.count < open.count ? "\(shown)…" : String(shown)
    }

    /// Returns an address, valid or not, with its user name and password replaced by `…`.
    ///
    /// A password may contain any character, so everything up to the last `@` is replaced.
    package static func withoutLogin(_ text: String) -> String {
        guard let end = text.lastIndex(of: "@") else { return text }
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        return "\(start < end ? text[..<start] : "")…\(text[end...])"
    }

    /// Checks that an address, valid or not, has no user name or password before its host;
    /// otherwise throws `SyncError` with `.usage`.
    static func checkHoldsNoLogin(_ address: String) throws(SyncError) {
        guard let start = address.firstRange(of: "//")?.upperBound,
            address[start...].prefix(while: { !"/?#\\".contains($0) }).contains("@")
        else { return }
        throw SyncError(
            .usage, "the address contains a user name or password",
            hint: "remove the part between // and @")
    }

    /// Returns the text after the colon that follows the host, even if it is not a valid port; nil
    /// if no colon follows the host.
    private static func port(of address: String) -> Substring? {
        guard let start = address.range(of: "://")?.upperBound else { return nil }
        let authority = address[start...].prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"),
            !authority[colon...].contains("]")
        else { return nil }
        return authority[authority.index(after: colon)...]
    }

    /// Returns the address in the form in which the store records it; an invalid address is
    /// returned unchanged.
    static func name(_ address: String) -> String { (try? HTTPAddress(address).base) ?? address }
}
