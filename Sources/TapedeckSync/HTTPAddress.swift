internal import Foundation
internal import TapedeckModel

/// Where a server is: an address that secrets may be sent to.
struct HTTPAddress: Hashable, Sendable {
    /// The longest address in bytes: a store remembers servers by theirs.
    static let bytesMax = 300

    /// The longest part of an address that an error repeats, in characters.
    private static let shownMax = 100

    /// The address, its scheme and host in lower case, without a slash at the end.
    let base: String

    /// Checks an address; plain `http` is for this machine only, because a token goes along.
    ///
    /// Throws `SyncError` with `.usage`.
    init(_ address: String) throws(SyncError) {
        // Errors repeat the address, but never a part of it that may hold a secret.
        if address.contains("@") {
            throw SyncError(
                .usage, "the address holds a user name or a password",
                hint: "leave them out: a server takes a token, a remote takes storectl login")
        }
        let shown = address.prefix { !"?#".contains($0) }.prefix(HTTPAddress.shownMax)
        guard address.utf8.count <= HTTPAddress.bytesMax else {
            throw SyncError(
                .usage,
                "\"\(shown)…\" has \(address.utf8.count) bytes, and an address"
                    + " \(HTTPAddress.bytesMax) at the most",
                hint: "write it like http://127.0.0.1:8080")
        }
        guard var url = URLComponents(string: address), let scheme = url.scheme?.lowercased(),
            let host = url.host?.lowercased(), !host.isEmpty,
            scheme == "http" || scheme == "https", url.query == nil, url.fragment == nil
        else {
            throw SyncError(
                .usage,
                address.contains { "?#".contains($0) }
                    ? "the address \"\(shown)…\" has a query or a fragment"
                    : "\"\(shown)\" is not the address of a server",
                hint: "write it like http://127.0.0.1:8080")
        }
        if let port = HTTPAddress.port(of: address), UInt16(port) ?? 0 == 0 {
            throw SyncError(
                .usage, "\"\(port.prefix(40))\" in \(address) is no port",
                hint: "ports are 1 to 65535")
        }
        let isLocal = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
        guard scheme == "https" || isLocal else {
            throw SyncError(
                .usage, "\(address) would carry the token unencrypted over the network",
                hint: "use https, or a tunnel that ends on this machine")
        }
        url.scheme = scheme
        url.percentEncodedHost = url.percentEncodedHost?.lowercased()
        var base = url.string ?? address
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
    }

    /// Throws `SyncError` with `.usage` where an address of any kind has a user name or a password in front of
    /// its host.
    static func checkHoldsNoLogin(_ address: String) throws(SyncError) {
        guard let start = address.firstRange(of: "//")?.upperBound,
            address[start...].prefix(while: { !"/?#\\".contains($0) }).contains("@")
        else { return }
        throw SyncError(
            .usage, "the address holds a user name or a password",
            hint: "leave out what stands between // and @")
    }

    /// What stands where a port does, whether or not it is one; nil where nothing does.
    private static func port(of address: String) -> Substring? {
        guard let start = address.range(of: "://")?.upperBound else { return nil }
        let authority = address[start...].prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":"),
            !authority[colon...].contains("]")
        else { return nil }
        return authority[authority.index(after: colon)...]
    }

    /// The address as a store remembers it; what is no address, as it stands.
    static func name(_ address: String) -> String { (try? HTTPAddress(address).base) ?? address }
}
