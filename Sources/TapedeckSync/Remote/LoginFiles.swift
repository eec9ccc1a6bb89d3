internal import Foundation
package import TapedeckLog
internal import TapedeckModel
package import TapedeckProjections

/// Stores logins next to the log, never in it, each in a file that only its owner can read.
///
/// A login is ended by each event that ends the logins of all devices and that this device did not
/// know when the user logged in; see `LoginEnds`. An ended login no longer exists for readers, and
/// `removeEnded` deletes its file. The projection `Remotes` must be available.
package struct LoginFiles: Sendable {
    /// The name of the directory inside the store's directory.
    package static let directoryName = "logins"
    private static let bytesMax = 64 << 10
    private static let suffix = ".json"

    private let directory: String
    private let log: EventLog
    private let runner: ProjectionRunner
    private let signOut: @Sendable (_ system: String) throws -> Void

    /// - Parameter signOut: Records that the user is signed out of a system on this device; called
    ///   for each login that `removeEnded` deletes.
    package init(
        _ log: EventLog, _ runner: ProjectionRunner,
        signOut: @escaping @Sendable (_ system: String) throws -> Void = { _ in }
    ) {
        (self.log, self.runner, self.signOut) = (log, runner, signOut)
        directory = LoginFiles.directory(of: log.directory.path)
    }

    private static func directory(of store: String) -> String { store + "/" + directoryName }

    /// Returns the path of a login file.
    func path(_ remote: String) -> String { "\(directory)/\(remote)\(LoginFiles.suffix)" }

    /// Returns the login for a remote's address; nil if there is none or it was ended.
    ///
    /// Throws `SyncError` if the file cannot be read, and `ProjectionError` and `LogError`.
    @available(*, noasync)
    package func read(_ remote: Remote) throws -> RemoteLogin? {
        guard let login = try stored(remote) else { return nil }
        return login.isEnded(by: try knownEnds(of: remote.name)) ? nil : login
    }

    /// Returns whether a login was deleted or ended, or never existed; false if its file cannot be
    /// read.
    ///
    /// Throws `ProjectionError` and `LogError`.
    @available(*, noasync)
    package func isGone(_ remote: Remote) throws -> Bool {
        do {
            return try read(remote) == nil
        } catch is SyncError {
            return false
        }
    }

    /// Returns whether a login file exists, without reading it; true if that is unknown.
    func exists(_ remote: String) -> Bool {
        access(path(remote), F_OK) == 0 || ![ENOENT, ENOTDIR].contains(errno)
    }

    /// Returns the events known to this device that ended the logins of all devices to a remote.
    ///
    /// These events do not end a login that the user begins now; store them with the login.
    @available(*, noasync)
    package func knownEnds(of remote: String) throws -> LoginEnds {
        try runner.read([Remotes().name]) { try Remotes.loginEnds(of: remote, $0) }
    }

    /// Returns whether the newest event known to this device that ended the logins of all devices to
    /// a remote is a logout everywhere.
    @available(*, noasync)
    package func areEndedByLogout(from remote: String) throws -> Bool {
        let newest = try knownEnds(of: remote).last.compactMap { try log.event($0) }
            .max { $0.stamp < $1.stamp }
        return newest?.type == RemoteLoginsEnded.eventType
    }

    /// Deletes the logins that the user has ended on any device, including those of removed remotes
    /// and of former addresses, and the unfinished files of killed processes.
    ///
    /// The event that ended a login does not sign the user out on a device that the event's device
    /// did not know, so each device signs out itself.
    @available(*, noasync)
    package func removeEnded() throws {
        // List the files first, so that a login to a remote that is added meanwhile is kept.
        let files = LoginFiles.files(in: directory)
        guard !files.isEmpty else { return }
        // An unfinished file contains secrets even if its login was never completed.
        for target in Set(files.compactMap(ReplacedFile.targetName(ofUnfinished:))) {
            ReplacedFile.removeAbandoned(replacing: "\(directory)/\(target)")
        }
        let remotes = try runner.read([Remotes().name]) { try Remotes.all($0) }
        for file in files where file.hasSuffix(LoginFiles.suffix) {
            let name = String(file.dropLast(LoginFiles.suffix.count))
            let remote = remotes.first { $0.name == name }
            if let remote, try !isGone(remote) { continue }
            let login = try? decoded(path(name))
            try end(name, of: login?.system ?? remote?.system)
        }
    }

    /// Deletes this device's login to a remote, and records that the user is signed out there.
    package func end(_ remote: Remote) throws { try end(remote.name, of: remote.system) }

    private func end(_ remote: String, of system: String?) throws {
        // Even if the sign-out cannot be recorded, the secrets must not stay on the disk.
        defer { remove(remote) }
        if let system { try signOut(system) }
    }

    /// Returns whether a store's directory contains logins or unfinished logins.
    package static func exist(in log: EventLog) -> Bool {
        !files(in: directory(of: log.directory.path)).isEmpty
    }

    /// Returns the names of the login files and of unfinished login files.
    private static func files(in directory: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return files.filter {
            (ReplacedFile.targetName(ofUnfinished: $0) ?? $0).hasSuffix(suffix)
        }
    }

    private func stored(_ remote: Remote) throws(SyncError) -> RemoteLogin? {
        let path = path(remote.name)
        guard access(path, R_OK) == 0 else {
            if [ENOENT, ENOTDIR].contains(errno) { return nil }
            throw SyncError(
                .accessDenied,
                "the login in \(path) cannot be read: \(String(cString: strerror(errno)))",
                hint: SystemReason.accessHint)
        }
        guard let login = try decoded(path) else { return nil }
        return login.url == remote.url ? login : nil
    }

    /// Returns the login in a file; nil if the file does not exist.
    private func decoded(_ path: String) throws(SyncError) -> RemoteLogin? {
        guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
        guard bytes.count <= LoginFiles.bytesMax,
            let login = try? JSONDecoder().decode(RemoteLogin.self, from: bytes)
        else {
            throw SyncError(
                .damaged, "\(path) does not contain a valid login",
                hint: "run storectl login again")
        }
        return login
    }

    /// Writes a login atomically.
    package func write(_ login: RemoteLogin, for remote: Remote) throws(SyncError) {
        var login = login
        (login.url, login.system) = (remote.url, remote.system)
        try LoginFiles.makeDirectory(in: log.directory.path)
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

    /// Creates a store's directory for logins if it does not exist.
    static func makeDirectory(in store: String) throws(SyncError) {
        try SyncError.wrapping { () throws(LogError) in
            try DurableFile.makeFolder(directory(of: store))
        }
    }

    /// Removes a login, if it exists, and unfinished files of killed processes.
    package func remove(_ remote: String) {
        unlink(path(remote))
        ReplacedFile.removeAbandoned(replacing: path(remote))
    }

    private func replace(_ path: String, with bytes: Data) throws(SyncError) {
        do throws(LogError) {
            let file = try ReplacedFile(replacing: path)
            try file.write(bytes)
            try file.place()
        } catch {
            throw SyncError(error)
        }
    }
}
