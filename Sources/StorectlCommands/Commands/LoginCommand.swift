internal import ArgumentParser
internal import Foundation
internal import Tapedeck
internal import TapedeckConnectors

/// `storectl login`.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in at a remote, for this device.",
        discussion: """
            What was given is kept in the store's directory, in a file that only you can read; it is \
            never in the log, in a backup or on a command line. The password is read from \
            --password-file, else from the file that TAPEDECK_PASSWORD_FILE names, else it is asked \
            for without being shown, or read as one line of stdin that is no terminal. A token file \
            has the token and its secret on a line each, and if the system wants that, the consumer \
            key and the consumer secret on a third and a fourth. With --sign-up the account is made first, \
            where the system lets other programs do that: birdtube does.

            EXAMPLE:
              storectl login home --token-file token
              storectl login home --user ada@example.org
              storectl login home --user ada@example.org --password-file password --json
              storectl login birds --user ada@example.org --sign-up
            """)

    @Argument(help: ArgumentHelp("The remote's name.", valueName: "name"))
    var name: String

    @Option(help: "Who you are there: a name or an e-mail address; else it is asked for.")
    var user: String?

    @Option(
        help: ArgumentHelp("The file that holds the password on a line.", valueName: "path"),
        completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("The file that holds an OAuth token and its secret.", valueName: "path"),
        completion: .file())
    var tokenFile: String?

    @Flag(help: "Make the account first.")
    var signUp = false

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if tokenFile != nil, user != nil || passwordFile != nil || signUp {
            throw ValidationError(
                "--token-file goes without --user, --password-file and --sign-up")
        }
    }

    func run() async throws {
        let store = try options.openStore()
        defer { store.close() }
        let remotes = StoreRemotes(store)
        // Before anybody types a password for a remote that is not there, or takes none.
        try check(remotes)
        let credentials = try credentials()
        let account = try await logIn(remotes, credentials)
        let document: JSON = ["name": .text(name), "account": .text(account)]
        try options.print(document) {
            $0.line(VisibleText.line("logged in at \(name) as \(user ?? account)"))
        }
    }

    /// A login that is refused names the file that it was read from.
    private func logIn(
        _ remotes: StoreRemotes, _ credentials: RemoteCredentials
    ) async throws -> String {
        do {
            return try await remotes.logIn(name, credentials, isNew: signUp)
        } catch let error as SyncError where error.code == .unauthorized {
            if let tokenFile {
                throw CommandError(error).adding("the token was read from \(tokenFile)")
            }
            if let passwordFile = namedPasswordFile {
                throw CommandError(error).adding("the password was read from \(passwordFile)")
            }
            throw error
        }
    }

    private func check(_ remotes: StoreRemotes) throws { try remotes.checkLogin(at: name) }

    private func credentials() throws -> RemoteCredentials {
        if let tokenFile {
            let lines = try SecretInput.lines(ofFile: tokenFile, "the token file")
            guard [2, 4].contains(lines.count), !lines.contains(where: \.isEmpty) else {
                throw CommandError(
                    .usage,
                    "the token file \(tokenFile) holds \(Figures.count(lines.count, "line")), not"
                        + " two or four",
                    hint: "write the token and its secret on a line each, then, if there are any,"
                        + " the consumer key and the consumer secret")
            }
            return RemoteCredentials(
                token: lines[0], secret: lines[1], consumerKey: lines.count > 2 ? lines[2] : nil,
                consumerSecret: lines.count > 2 ? lines[3] : nil)
        }
        let user = try self.user ?? askedUser()
        guard !user.isEmpty else {
            throw CommandError(.usage, "the user is empty", hint: "--user names who you are there")
        }
        return RemoteCredentials(user: user, password: try password(of: user))
    }

    private func askedUser() throws -> String {
        guard SecretInput.isTerminal else {
            throw CommandError(
                .usage, "neither --user nor --token-file is given",
                hint: "storectl login --help tells what it takes")
        }
        return try SecretInput.answer("user at \(name)")
    }

    private var namedPasswordFile: String? {
        let named = passwordFile ?? ProcessInfo.processInfo.environment["TAPEDECK_PASSWORD_FILE"]
        return named?.isEmpty == false ? named : nil
    }

    private func password(of user: String) throws -> String {
        if let file = namedPasswordFile { return try SecretInput.password(inFile: file) }
        let password = try SecretInput.secret("password of \(user) at \(name)")
        guard !password.isEmpty else {
            throw CommandError(
                .usage, "no password was given",
                hint: "type it, name a file with --password-file, or write it to stdin")
        }
        return password
    }
}
