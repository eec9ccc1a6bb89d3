import Foundation
import TapedeckLog
import TapedeckModel
@testable import TapedeckSync
import TestSupport
import Testing

/// Invalid headers are refused before a library sees them.
///
/// The library's error would repeat the secret, and errors are stored.
struct SecretHeaderTests {
    private static let mark = "pl4nted"
    private static let tokens = [
        "\(mark)\n\(mark)", "\(mark)\r\nHost: evil", "\(mark)\u{0}", "\(mark) \(mark)",
        "\(mark)é", "\(mark)\u{7F}",
    ]
    private let rig = SyncRig()

    @Test(arguments: tokens) func errorsDoNotRepeatInvalidTokens(_ token: String) async throws {
        let log = try rig.store("store")
        let url = "http://127.0.0.1:1"
        let refused = #expect(throws: SyncError.self) {
            try SyncEngine(log, server: url, token: token)
        }
        #expect(refused?.code == .usage)
        // The token is read during the sync.
        let engine = try SyncEngine(log, server: url) { token }
        let report = try await engine.run()
        let failure = try #require(report.failure)
        #expect(failure.code == .usage)
        let statuses = try await onThread { try SyncStatus.all(in: log) }
        for text in ["\(String(describing: refused))", "\(failure)", "\(report)", "\(statuses)"] {
            #expect(!text.contains(Self.mark))
        }
        log.close()
        let file = try Data(contentsOf: URL(fileURLWithPath: rig.path("store/log.mdb")))
        #expect(file.range(of: Data(Self.mark.utf8)) == nil)
    }

    @Test func spaceAroundATokenIsRemoved() throws {
        #expect(try HTTPHeader.bearer(" \n token\r\n") == "Bearer token")
        for empty in ["", " \n"] {
            let error = #expect(throws: SyncFailure.self) { try HTTPHeader.bearer(empty) }
            #expect(error?.message == "the token is empty")
        }
    }

    @Test(arguments: ["a\r\nb", "a\u{0}b", "a\u{1B}b"])
    func headersToRemotesAreCheckedToo(_ value: String) async throws {
        let transport = try HTTPRemoteTransport(base: "http://127.0.0.1:1")
        let error = await #expect(throws: SyncFailure.self) {
            try await transport.send(
                RemoteRequest("GET", "/", headers: [.init("Cookie", Self.mark + value)]))
        }
        await transport.close()
        #expect(error?.code == .unauthorized && error?.isUnsent == true)
        #expect(error?.message.contains("Cookie") == true)
        #expect("\(String(describing: error))".contains(Self.mark) == false)
    }

    @Test(arguments: ["?token=", "/path?a=", "#", "/v1#t="]) func addressErrorsOmitTheQuery(
        _ rest: String
    ) throws {
        for fill in [0, HTTPAddress.bytesMax] {
            let error = #expect(throws: SyncError.self) {
                try HTTPAddress(
                    "https://a.example" + rest + Self.mark + String(repeating: "x", count: fill))
            }
            #expect(error?.code == .usage && error?.message.contains("https://a.example") == true)
            #expect("\(String(describing: error))".contains(Self.mark) == false)
        }
    }

    @Test func secretsThatARemoteRepeatsAreRedacted() {
        let secrets = RemoteSecrets(
            user: "ada", password: "p\u{F6} 1", tokenSecret: "longer-secret")
        let account = RemoteAccount(user: "7", token: "longer", tokenSecret: "")
        let repeated = "ada: longer-secret, longer, p\u{F6} 1 and p%C3%B6%201"
        let failure = RemoteLogin(secrets: secrets, account: account).redacting(
            SyncFailure(.unauthorized, "\(repeated)"))
        #expect(failure.message == "ada: [secret], [secret], [secret] and [secret]")
    }

    private static let oddSecrets = [
        #"SEK"R77secretsecret"#, #"secretse"cret99"#, #"back\slash99secret"#,
        "p\u{E4}ss/w\u{F6}rd99", "<a>&'b'+\"c\"", #"\""\"\\\"#, "\u{1F511}key \u{1F511}key",
        #"a"b\c"#, "cafe\u{301}SBYu103", "\u{1F469}\u{200D}\u{1F4BB}key123",
        "mein\u{A0}geheimes\u{A0}Wort", "\u{FF50}\u{FF41}ss\u{B2}wo\u{2167}rd99",
    ]

    /// The ways in which remotes repeat a request.
    private static func forms(of secret: String) throws -> [String] {
        let json = try #require(
            String(bytes: JSONEncoder().encode([secret]), encoding: .utf8)
        ).dropFirst(2).dropLast(2)
        let plain = json.replacing("\\/", with: "/")
        let ascii = plain.utf16.map {
            $0 < 0x7F
                ? String(UnicodeScalar(UInt8($0)))
                : "\\u" + String(0x10000 + Int($0), radix: 16).dropFirst()
        }.joined()
        let escaped = secret.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
        let loose = CharacterSet.urlQueryAllowed
        let percent = try #require(secret.addingPercentEncoding(withAllowedCharacters: loose))
        let form = RemoteRequest.segment(secret)
        return [
            secret, secret.uppercased(), secret.lowercased(), String(json), String(plain), ascii,
            ascii.uppercasedEscapes, RemoteRequest.segment(secret.uppercased()),
            ascii.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""),
            escaped.replacing("'", with: "&#39;"), escaped.replacing("'", with: "&#x27;"),
            escaped.replacing("'", with: "&#039;"), percent, form,
            form.replacing("%20", with: "+"), form.replacing("%", with: "%25"),
            secret.decomposedStringWithCanonicalMapping,
            secret.precomposedStringWithCompatibilityMapping,
            secret.utf8.map { String(UnicodeScalar($0)) }.joined(),
            RemoteRequest.segment(secret.precomposedStringWithCanonicalMapping),
            secret.utf8.map { "\\x" + String(0x100 + Int($0), radix: 16).dropFirst() }.joined(),
            secret.utf8.map { String(0x100 + Int($0), radix: 16).dropFirst() }.joined(),
        ]
    }

    @Test(arguments: oddSecrets) func escapedSecretsAreRedacted(_ secret: String) throws {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: secret))
        for form in try Self.forms(of: secret) {
            // A quotation mark after a backslash could be part of the secret.
            let end = secret.hasSuffix("\\") ? " }" : "\"}"
            let repeated = #"bad request: {"password":"\#(form)\#(end)"#
            let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
            #expect(failure.message == #"bad request: {"password":"[secret]\#(end)"#, "\(form)")
            // Messages shorten long values.
            guard secret.count >= 8, form.count > 9 else { continue }
            let shortened = "bad request: \(form.prefix(9))"
            let short = login.redacting(SyncFailure(.unauthorized, "\(shortened)"))
            #expect(short.message == "bad request: [secret]", "\(form)")
        }
    }

    /// A way in which web frameworks escape text before they repeat it.
    private enum Escaping: CaseIterable {
        case json, asciiJSON, url, form, decimalHTML, hexadecimalHTML, namedHTML, bytes, octalBytes

        func callAsFunction(_ text: String) -> String {
            switch self {
            case .json:
                text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                    .replacing("/", with: "\\/")
            case .asciiJSON:
                text.utf16.map { unit in
                    Unicode.Scalar(unit).flatMap(Escaping.plain) ?? "\\u" + Escaping.hex(unit, 4)
                }.joined()
            case .url: RemoteRequest.segment(text)
            case .form: RemoteRequest.segment(text).replacing("%20", with: "+")
            case .decimalHTML:
                text.unicodeScalars.map { Escaping.plain($0) ?? "&#\($0.value);" }.joined()
            case .hexadecimalHTML:
                text.unicodeScalars.map {
                    Escaping.plain($0) ?? "&#x" + Escaping.hex($0.value, 1) + ";"
                }.joined()
            case .namedHTML:
                text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
                    .replacing("\"", with: "&quot;").replacing("+", with: "&plus;")
                    .replacing("\u{F6}", with: "&ouml;")
            case .bytes:
                text.utf8.map {
                    Escaping.plain(Unicode.Scalar($0)) ?? "\\x" + Escaping.hex($0, 2)
                }.joined()
            case .octalBytes:
                text.utf8.map {
                    Escaping.plain(Unicode.Scalar($0))
                        ?? "\\" + String(0o1000 + Int($0), radix: 8).dropFirst()
                }.joined()
            }
        }

        /// Returns an ASCII letter or digit as text; nil for other characters.
        private static func plain(_ scalar: Unicode.Scalar) -> String? {
            let isPlain =
                scalar.isASCII && (Character(scalar).isLetter || Character(scalar).isNumber)
            return isPlain ? String(scalar) : nil
        }

        private static func hex(_ value: some BinaryInteger, _ count: Int) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
    }

    /// A proxy may escape the page of a server that has already escaped the request.
    @Test(arguments: oddSecrets + ["Ab9+kQ/x7w==", "difference engine 7", "Ab&9%zQ+w", "hunter2"])
    func secretsEscapedSeveralTimesAreRedacted(_ secret: String) {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: secret))
        for first in Escaping.allCases {
            for second in Escaping.allCases {
                let twice = second(first(secret))
                for repeated in [twice, Escaping.url(twice)] {
                    let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
                    #expect(failure.message == "[secret]", "\(first), \(second): \(repeated)")
                }
            }
        }
    }

    @Test(arguments: oddSecrets + ["short"]) func encodedSecretsAreRedacted(_ secret: String) {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: secret))
        for value in [secret, "ada:\(secret)"] {
            let code = Data(value.utf8).base64EncodedString()
            let urlSafe = code.replacing("+", with: "-").replacing("/", with: "_")
            for form in [code, urlSafe, RemoteRequest.segment(code), code.filter { $0 != "=" }] {
                let repeated = "bad header: Basic \(form)"
                let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
                #expect(failure.message == "bad header: Basic [secret]", "\(form)")
            }
        }
        let form = Data("user=ada&password=\(RemoteRequest.segment(secret))".utf8)
        let whole = form.base64EncodedString()
        let repeatedForm = login.redacting(SyncFailure(.unauthorized, "\(whole)"))
        if secret.utf8.count >= 8 { #expect(repeatedForm.message.contains("[secret]")) }
        // Within a longer value, the first and the last character also depend on its neighbours.
        guard secret.utf8.count >= 8 else { return }
        for before in ["", "a", "ab", "abc"] {
            let code = Data("\(before)\(secret)xyz".utf8).base64EncodedString()
            let failure = login.redacting(SyncFailure(.unauthorized, "\(code)"))
            #expect(failure.message.contains("[secret]"))
            #expect(failure.message.count <= "[secret]".count + 4 + 2 + 6, "\(code)")
        }
    }

    /// During a login, a remote may also repeat the login that the device already has.
    @Test func secretsOfTwoLoginsAreRedacted() {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: "new-password"))
        let stored = RemoteLogin(
            secrets: RemoteSecrets(user: "ada"), account: RemoteAccount(user: "7", token: "old"))
        let repeated = "new-password and old"
        let failure = SyncFailure(.unauthorized, "\(repeated)")
        #expect(login.redacting(failure, and: stored).message == "[secret] and [secret]")
    }

    /// The digits of an escape are not part of a word.
    @Test(arguments: ["%3D", "%22", "%253d", #"\u003d"#, #"\x3d"#, "&#61;", "="])
    func shortSecretsAfterEscapesAreRedacted(_ mark: String) {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: "hunter2"))
        let repeated = "bad request: password\(mark)hunter2%26x"
        let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
        #expect(failure.message == "bad request: password\(mark)[secret]%26x")
    }

    /// A command with a gap would reveal the secret.
    @Test func hintsStayWholeIfASecretIsACommonWord() {
        let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: "login"))
        let hint = "run storectl login NAME"
        #expect(login.redacting(SyncFailure(.unauthorized, "denied", hint: hint)).hint == hint)
    }

    /// The replacement of one secret may contain another secret.
    @Test func shortSecretsAreReplacedOnceAndOnlyAsWholeWords() {
        let login = RemoteLogin(secrets: RemoteSecrets(token: "tok", tokenSecret: "sec"))
        let repeated = "invalid token: tok, sec"
        let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
        #expect(failure.message == "invalid token: [secret], [secret]")
    }

    /// Services begin all their tokens with the same characters.
    @Test func secretsWithTheSameBeginningAreReplacedWhole() {
        let login = RemoteLogin(
            secrets: RemoteSecrets(token: "sk_live_token", tokenSecret: "sk_live_other_secret"))
        let repeated = "sk_live_token, sk_live_other_secret, sk_live_other_"
        let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
        #expect(failure.message == "[secret], [secret], [secret]")
    }

    /// A gap in the program's own words would reveal the secret.
    @Test func ownWordsStayWholeIfASecretIsACommonWord() throws {
        struct Foreign: Error {}
        let remote = Remote(name: "home", system: "shelby", url: "https://a.example", parts: [])
        var failures = [301, 400, 401, 404, 413, 429, 503].compactMap {
            RemoteResponse(status: $0).failure
        }
        failures.append(HTTPFailure(Foreign(), at: remote.url).failure)
        failures.append(HTTPFailure(HTTPHeadError.invalidStatus(99), at: remote.url).failure)
        for failure in failures {
            let failure = failure.naming(remote)
            let words = failure.message.split { !$0.isLetter && !$0.isNumber }
            for word in Set(words.map(String.init) + ["a", "e", "[", ":", " "]) {
                let login = RemoteLogin(secrets: RemoteSecrets(user: "ada", password: word))
                #expect(login.redacting(failure).message == failure.message, "\(word)")
                // The same word is a secret in text from the remote.
                let text: FailureText = "\(failure.text): \(word)"
                #expect(login.redacting(text) == "\(failure.message): [secret]", "\(word)")
            }
        }
    }

    /// A secret in `[secret]` would be replaced again.
    @Test func textIsRedactedOnlyOnce() {
        let login = RemoteLogin(secrets: RemoteSecrets(token: "secret"))
        let repeated = "invalid token: secret"
        let failure = login.redacting(SyncFailure(.unauthorized, "\(repeated)"))
        #expect(failure.message == "invalid token: [secret]")
        #expect(login.redacting(failure) == failure)
    }

    /// Error messages from other libraries may contain any values, so they are never passed on.
    @Test func foreignErrorsAreReportedByType() throws {
        struct Foreign: Error { let token = SecretHeaderTests.mark }
        for text in [
            ForeignError.text(Foreign()), LogError.wrapping(throwing: Foreign()).message,
            LogError.wrapping(throwing: Foreign()).description,
        ] {
            #expect(text.contains("Foreign") && !text.contains(Self.mark), "\(text)")
        }
        #expect(
            HTTPFailure(Foreign(), at: "http://a").message
                == "http://a cannot be reached: the connection was lost")
        #expect(
            ForeignError.text(CocoaError(.fileNoSuchFile)).contains("No such file or directory"))
    }
}

extension String {
    /// The text with uppercase digits in the escapes of JSON.
    fileprivate var uppercasedEscapes: String {
        replacing(#/\\u([0-9a-f]{4})/#) { "\\u" + $0.output.1.uppercased() }
    }
}

extension LogError {
    fileprivate static func wrapping(throwing error: any Error) -> LogError {
        do { return try LogError.wrapping { throw error } } catch { return error }
    }
}
