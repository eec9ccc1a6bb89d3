internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// What the user proves who they are with.
///
/// It is never in the log, in an error or in argv.
package struct RemoteSecrets: Codable, Hashable, Sendable {
    /// A user name or an e-mail address.
    package var user: String
    package var password: String
    /// A token that was got elsewhere; then there is no password.
    package var token: String?
    package var tokenSecret: String?
    /// What the remote knows this program by, where it wants that.
    package var consumerKey: String?
    package var consumerSecret: String?

    package init(
        user: String = "", password: String = "", token: String? = nil, tokenSecret: String? = nil
    ) {
        self.user = user
        self.password = password
        self.token = token
        self.tokenSecret = tokenSecret
    }
}

/// A login at a remote: what requests carry, and whose account it is.
package struct RemoteAccount: Codable, Hashable, Sendable {
    /// The remote's id of the user.
    package var user: String
    package var token: String
    package var tokenSecret: String?
    /// When the token ends, in Unix milliseconds; nil where the remote does not say.
    package var expiresAt: UInt64?
    /// What else the login brought, such as the user's channel.
    package var details: [String: String]

    package init(
        user: String, token: String, tokenSecret: String? = nil, expiresAt: UInt64? = nil,
        details: [String: String] = [:]
    ) {
        self.user = user
        self.token = token
        self.tokenSecret = tokenSecret
        self.expiresAt = expiresAt
        self.details = details
    }
}

extension RemoteAccount {
    /// Nobody's: with it, what a remote shows to all is read.
    package static let anonymous = RemoteAccount(user: "", token: "")

    /// Whether nobody has logged in.
    package var isAnonymous: Bool { self == .anonymous }
}

extension RemoteAccount {
    /// Refuses an account other than the one to which the store belongs, because what waits to be delivered was wanted
    /// by that one and must not be sent in the name of another.
    ///
    /// - Parameter own: the store's account; nil for a store that has none yet.
    ///
    /// Throws `SyncFailure` with `.conditionFailed`.
    package func check(against own: String?, at remote: Remote) throws(SyncFailure) {
        guard let own, own != user else { return }
        throw SyncFailure(
            .conditionFailed,
            "the login at \(remote.name) is that of the account \(user), but this store belongs to \(own)",
            hint: "log in as \(own), or make another store for \(user)")
    }
}

/// What a store says of a remote while a session goes on.
package struct RemoteConnection: Sendable {
    /// Reads the account to which the store belongs there; nil before the first login.
    package var account: @Sendable () throws -> String?
    /// Whether the store is still connected with the remote, at the same address.
    package var isThere: @Sendable () throws -> Bool

    package init(
        account: @escaping @Sendable () throws -> String?,
        isThere: @escaping @Sendable () throws -> Bool
    ) {
        (self.account, self.isThere) = (account, isThere)
    }
}

/// What is kept of a login: the secrets, by which an ended token is replaced, and the account.
package struct RemoteLogin: Codable, Hashable, Sendable {
    package var secrets: RemoteSecrets
    package var account: RemoteAccount?
    /// The address that they are for: they go nowhere else, wherever the remote's name may come to point.
    fileprivate var url = ""

    package init(secrets: RemoteSecrets, account: RemoteAccount? = nil) {
        self.secrets = secrets
        self.account = account
    }

    /// Returns a failure without the login's secrets: a remote may repeat one in its answer, and failures are stored
    /// and shown.
    package func redacting(_ failure: SyncFailure) -> SyncFailure {
        var failure = failure
        failure.message = redacting(failure.message)
        failure.hint = failure.hint.map(redacting)
        return failure
    }

    private func redacting(_ text: String) -> String {
        let values = [
            secrets.password, secrets.token, secrets.tokenSecret, secrets.consumerKey,
            secrets.consumerSecret, account?.token, account?.tokenSecret,
        ]
        // The longest first: one may be a part of another.
        return values.compactMap { $0 }.flatMap { value in
            [value, RemoteRequest.segment(value)].filter { !$0.isEmpty }
        }.sorted { $0.utf8.count > $1.utf8.count }.reduce(text) {
            $0.replacing($1, with: "[secret]")
        }
    }

    /// Whether another one proves and holds the same; for which address does not count.
    func isSame(as other: RemoteLogin) -> Bool {
        secrets == other.secrets && account == other.account
    }
}

/// Where logins are kept: beside the log and never in it, each in a file that only its owner can read.
package struct LoginFiles: Sendable {
    /// The directory in a store's own.
    package static let directoryName = "logins"
    private static let bytesMax = 64 << 10

    private let directory: String

    package init(store: String) { directory = store + "/" + LoginFiles.directoryName }

    /// The file of a login.
    func path(_ remote: String) -> String { "\(directory)/\(remote).json" }

    /// The login at a remote's address; nil where there is none.
    package func read(_ remote: Remote) throws(SyncError) -> RemoteLogin? {
        let path = path(remote.name)
        guard access(path, R_OK) == 0 else {
            if [ENOENT, ENOTDIR].contains(errno) { return nil }
            throw SyncError(
                .accessDenied,
                "the login in \(path) cannot be read: \(String(cString: strerror(errno)))",
                hint: SystemReason.accessHint)
        }
        guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
        guard bytes.count <= LoginFiles.bytesMax,
            let login = try? JSONDecoder().decode(RemoteLogin.self, from: bytes)
        else {
            throw SyncError(
                .damaged, "\(path) does not hold a login",
                hint: "storectl login writes it anew")
        }
        return login.url == remote.url ? login : nil
    }

    /// Writes a login, all of it or nothing.
    package func write(_ login: RemoteLogin, for remote: Remote) throws(SyncError) {
        var login = login
        login.url = remote.url
        try makeDirectory()
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            try replace(path(remote.name), with: encoder.encode(login))
        } catch let error as SyncError {
            throw error
        } catch {
            throw SyncError(
                .inputOutput, "the login cannot be written\(SystemReason.of(error))", cause: error)
        }
    }

    /// Makes the directory, where there is none.
    func makeDirectory() throws(SyncError) {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw SyncError(
                .inputOutput, "\(directory) cannot be made\(SystemReason.of(error))",
                hint: SystemReason.accessHint, cause: error)
        }
    }

    /// Forgets a login; one that is not there is no error.
    package func remove(_ remote: String) { unlink(path(remote)) }

    private func replace(_ path: String, with bytes: Data) throws(SyncError) {
        // A name of its own: two processes may log in at once.
        let draft = path + ".\(UInt64.random(in: .min ... .max).paddedHex).new"
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw SyncError(
                .accessDenied, "\(draft) cannot be written: \(String(cString: strerror(errno)))",
                hint: SystemReason.accessHint)
        }
        let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
        let isWritten = count == bytes.count && fsync(file) == 0
        let isClosed = close(file) == 0
        guard isWritten, isClosed, rename(draft, path) == 0 else {
            let number = errno
            unlink(draft)
            throw SyncError(
                number == ENOSPC ? .diskFull : .inputOutput,
                "\(path) cannot be written: \(String(cString: strerror(number)))")
        }
        do throws(LogError) {
            try DurableFile.synchronize(directory)
        } catch {
            throw SyncError(error.code, error.message, hint: error.hint, cause: error)
        }
    }
}
