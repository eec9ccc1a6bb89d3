internal import ArgumentParser
internal import Foundation
internal import Tapedeck
internal import TapedeckConnectors

/// The command `storectl login`.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in to a remote on this device.",
        discussion: """
            The credentials are kept in the store's directory, in a file that only you can read, \
            and never in the log, a backup or a command line. The password is read from the file \
            given by --password-file or by the environment variable TAPEDECK_PASSWORD_FILE. \
            Without a password file, the password is read from the terminal without echo, or from \
            one line of stdin if stdin is not a terminal. A token file contains the token and its \
            secret on separate lines, followed by the consumer key and its secret if the system \
            needs them. --sign-up creates the account first, on systems that allow it (birdtube). \
            With --provider, the token file contains the token of a linked service (shelby, API \
            v1), and --add links the service to the account that this device is logged in to.

            With --oauth (shelby), the command prints the address of a page on which you sign in \
            with the service and approve the login, and then asks for the address to which the \
            browser was redirected, or for the PIN on the page. The address or PIN is read from \
            the terminal without echo, or from one line of stdin. The consumer file contains the \
            key and the secret under which this program is registered with the server, on \
            separate lines, and must be readable only by you (mode 0600).

            EXAMPLE:
              storectl login home --token-file token
              storectl login home --user ada@example.org
              storectl login home --user ada@example.org --password-file password --json
              storectl login birds --user ada@example.org --sign-up
              storectl login home --provider twitter --uid 101 --token-file twitter-token
              storectl login home --oauth --provider twitter --consumer-file consumer
            """)

    @Argument(
        help: ArgumentHelp("The remote's name.", valueName: "name"),
        completion: RemoteNames.completion)
    var name: String

    @Option(help: "Your user name or email address on the remote (default: ask).")
    var user: String?

    @Option(
        help: ArgumentHelp("The file that contains the password.", valueName: "path"),
        completion: .file())
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "The file that contains an OAuth token and its secret.", valueName: "path"),
        completion: .file())
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Log in through this service, such as twitter.", valueName: "service"))
    var provider: String?

    @Option(help: ArgumentHelp("Your user id at the service.", valueName: "id"))
    var uid: String?

    @Flag(help: "Approve the login in a browser (OAuth 1.0a).")
    var oauth = false

    @Option(
        help: ArgumentHelp(
            "The file that contains the consumer key and its secret.", valueName: "path"),
        completion: .file())
    var consumerFile: String?

    @Option(
        help: ArgumentHelp(
            """
            The address of the OAuth server (default: Shelby's server or, for API v1 with \
            --provider twitter, Twitter's server).
            """,
            valueName: "url"))
    var oauthUrl: String?

    @Flag(help: "Link the --provider service to the account that this device is logged in to.")
    var add = false

    @Flag(help: "Create the account first.")
    var signUp = false

    @Flag(
        help: ArgumentHelp(
            """
            Let the store belong to this account if devices with different logins have synced; \
            changes that were made with another account are not sent.
            """))
    var replace = false

    @OptionGroup var options: StoreOptions

    func validate() throws {
        if add, provider == nil { throw ValidationError("--add requires --provider") }
        if oauth { return try validateOAuth() }
        guard consumerFile == nil, oauthUrl == nil else {
            throw ValidationError("--consumer-file and --oauth-url require --oauth")
        }
        if tokenFile != nil, user != nil || passwordFile != nil || signUp {
            throw ValidationError(
                "--token-file cannot be combined with --user, --password-file or --sign-up")
        }
        guard (provider == nil) == (uid == nil), provider == nil || tokenFile != nil else {
            throw ValidationError("--provider requires --uid and --token-file, or --oauth")
        }
    }

    private func validateOAuth() throws {
        guard provider != nil, consumerFile != nil else {
            throw ValidationError("--oauth requires --provider and --consumer-file")
        }
        guard user == nil, passwordFile == nil, tokenFile == nil, uid == nil, !signUp else {
            throw ValidationError(
                "--oauth cannot be combined with --user, --password-file, --token-file, --uid or"
                    + " --sign-up")
        }
    }

    func run() async throws {
        let store = try options.openStore()
        defer { store.close() }
        let remotes = StoreRemotes(store)
        // Do not ask for a password for a remote that does not exist or needs no login.
        try check(remotes)
        let credentials: RemoteCredentials
        do {
            credentials = try await approvedCredentials(remotes) ?? self.credentials(remotes)
        } catch let error as CommandError {
            throw error.adding(before: "cannot log in to \(name)")
        }
        let account = try await logIn(remotes, credentials)
        let nickname = try nickname(of: account, store, remotes)
        let document: JSON = [
            "name": .text(name), "account": .text(account), "nickname": .init(nickname),
        ]
        let what = add ? "linked \(provider ?? "") on \(name) to" : "logged in to \(name) as"
        try options.print(document) {
            $0.line(VisibleText.line("\(what) \(nickname ?? user ?? account)"))
        }
    }

    /// Returns the account's name as recorded by the login; nil if the remote has not reported it.
    private func nickname(
        of account: String, _ store: TapedeckStore, _ remotes: StoreRemotes
    ) throws -> String? {
        let system = try remotes.named(name).system
        return try store.projections.read([VideoProjections.standard.accounts.name]) { views in
            try VideoQueries(views).ownAccount(at: system)
        }.flatMap { $0.account == account ? $0.nickname : nil }
    }

    /// Logs in; if the remote refuses the credentials, the error names the file that contains them.
    private func logIn(
        _ remotes: StoreRemotes, _ credentials: RemoteCredentials
    ) async throws -> String {
        do {
            if add { return try await remotes.link(name, credentials) }
            return try await remotes.logIn(
                name, credentials, isNew: signUp, replacesOthers: replace)
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

    private func check(_ remotes: StoreRemotes) throws {
        try remotes.checkLogin(at: name, isLink: add)
    }

    /// Lets the user approve the login in a browser; returns nil without `--oauth`.
    private func approvedCredentials(_ remotes: StoreRemotes) async throws -> RemoteCredentials? {
        guard oauth, let provider, let consumerFile else { return nil }
        let lines = try lines(
            of: consumerFile, "consumer file", [2], "two", isPrivate: true,
            hint: "write the consumer key and its secret on separate lines")
        return try await remotes.authorize(
            name, service: provider, consumerKey: lines[0], consumerSecret: lines[1], url: oauthUrl
        ) { page in
            StandardOutput.diagnose("Approve the login on this page: \(page)")
            return try SecretInput.secret("address after the approval, or PIN")
        }
    }

    private func credentials(_ remotes: StoreRemotes) throws -> RemoteCredentials {
        if let tokenFile {
            if let provider, let uid {
                let lines = try lines(
                    of: tokenFile, "token file", [1, 2], "one or two",
                    hint: "write the token of \(provider) and, if there is one, its secret on"
                        + " separate lines")
                return RemoteCredentials(
                    service: provider, user: uid, token: lines[0],
                    secret: lines.count > 1 ? lines[1] : nil)
            }
            let lines = try lines(
                of: tokenFile, "token file", [2, 4], "two or four",
                hint: "write the token and its secret on separate lines, then the consumer key"
                    + " and its secret if the system needs them")
            return RemoteCredentials(
                token: lines[0], secret: lines[1], consumerKey: lines.count > 2 ? lines[2] : nil,
                consumerSecret: lines.count > 2 ? lines[3] : nil)
        }
        let user = try self.user ?? askedUser(remotes)
        guard !user.isEmpty else {
            throw CommandError(
                .usage, "the user name is empty", hint: "pass your user name with --user")
        }
        return RemoteCredentials(user: user, password: try password(of: user))
    }

    /// Returns the lines of a file of secrets; the number of lines must be one of `counts`.
    private func lines(
        of file: String, _ what: String, _ counts: [Int], _ expected: String,
        isPrivate: Bool = false, hint: String
    ) throws -> [String] {
        let lines = try SecretInput.lines(ofFile: file, "the \(what)", isPrivate: isPrivate)
        guard counts.contains(lines.count), !lines.contains(where: \.isEmpty) else {
            throw CommandError(
                .usage,
                "the \(what) \(file) contains \(Figures.count(lines.count, "line")), not"
                    + " \(expected)",
                hint: hint)
        }
        return lines
    }

    private func askedUser(_ remotes: StoreRemotes) throws -> String {
        guard SecretInput.isTerminal else {
            // The system's error names the kinds of credentials that it accepts.
            try remotes.check(RemoteCredentials(user: "", password: ""), at: name)
            throw CommandError(
                .usage, "no user name was given", hint: "pass your user name with --user")
        }
        return try SecretInput.answer("user name on \(name)")
    }

    private var namedPasswordFile: String? {
        let named = passwordFile ?? ProcessInfo.processInfo.environment["TAPEDECK_PASSWORD_FILE"]
        return named?.isEmpty == false ? named : nil
    }

    private func password(of user: String) throws -> String {
        if let file = namedPasswordFile { return try SecretInput.password(inFile: file) }
        let password = try SecretInput.secret("password for \(user) on \(name)")
        guard !password.isEmpty else {
            throw CommandError(
                .usage, "no password was given",
                hint: "type the password, name a file with --password-file, or write it to stdin")
        }
        return password
    }
}
