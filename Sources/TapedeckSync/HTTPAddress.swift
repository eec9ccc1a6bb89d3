internal import Foundation
internal import TapedeckModel

/// Where a server is: an address that secrets may be sent to.
struct HTTPAddress: Hashable, Sendable {
    /// The address without a slash at the end.
    let base: String

    /// Checks an address; plain `http` is for this machine only, because a token goes along.
    ///
    /// Throws `SyncError` with `.usage`.
    init(_ address: String) throws(SyncError) {
        // What is wrong is told with the address, and a secret in it must not be.
        if address.contains("@") {
            throw SyncError(
                .usage, "the address holds a user name or a password",
                hint: "leave them out: storectl login takes them")
        }
        guard let url = URLComponents(string: address), let scheme = url.scheme?.lowercased(),
            let host = url.host, !host.isEmpty, scheme == "http" || scheme == "https",
            url.query == nil, url.fragment == nil
        else {
            throw SyncError(
                .usage, "\"\(address.prefix(100))\" is not the address of a server",
                hint: "write it like http://127.0.0.1:8080")
        }
        let isLocal = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
        guard scheme == "https" || isLocal else {
            throw SyncError(
                .usage, "\(address) would carry the token unencrypted over the network",
                hint: "use https, or a tunnel that ends on this machine")
        }
        base = address.hasSuffix("/") ? String(address.dropLast()) : address
    }
}
