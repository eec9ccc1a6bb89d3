internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// An answer of BirdTube's server: an object whose `result` tells whether it is a success.
enum BirdTubeAnswer {
    /// The object of an answer that is a success.
    static func element(_ response: RemoteResponse) throws(SyncFailure) -> JSONElement {
        // No answer of the API itself has another status.
        if let failure = response.failure { throw failure }
        guard
            let document = try? JSONParser.parse(
                response.body, bytesMax: IngestResource.documentBytesMax),
            let element = try? JSONElement(document, at: "$")
        else { throw SyncFailure(.unavailable, "BirdTube did not answer as its API does") }
        do throws(IngestRefusal) {
            try check(element)
        } catch {
            throw SyncFailure(error.code, error.message)
        }
        return element
    }

    /// Throws `.remoteError` for what says that it is an error.
    static func check(_ element: JSONElement) throws(IngestRefusal) {
        switch try? element.text("result").value {
        case "success": return
        case "error":
            throw IngestRefusal(
                element.path, .remoteError, "BirdTube says: \(message(of: element))")
        default:
            throw IngestRefusal(
                element.path, .remoteError, "BirdTube says neither success nor error")
        }
    }

    /// What an answer that is an error says; empty for a success.
    static func message(_ response: RemoteResponse) -> String {
        guard response.failure == nil,
            let document = try? JSONParser.parse(
                response.body, bytesMax: IngestResource.documentBytesMax),
            let element = try? JSONElement(document, at: "$"),
            (try? element.text("result").value) == "error"
        else { return "" }
        return message(of: element)
    }

    private static func message(of element: JSONElement) -> String {
        String(((try? element.text("message").value) ?? "").prefix(200))
    }

    /// The members of a list in an answer that is a success.
    static func list(
        _ name: String, of response: RemoteResponse
    ) throws(SyncFailure) -> [JSONValue] {
        let element = try element(response)
        guard let list = try? element.list(name) else {
            throw SyncFailure(.unavailable, "BirdTube's answer has no list \(name)")
        }
        return list
    }
}

/// What a login at BirdTube takes and gives.
enum BirdTubeAccount {
    static func check(_ secrets: RemoteSecrets) throws(SyncFailure) {
        guard !secrets.user.isEmpty, !secrets.password.isEmpty else {
            throw SyncFailure(
                .unauthorized, "BirdTube takes an e-mail address and a password",
                hint: "storectl login NAME --user ADDRESS, with the password on standard input")
        }
    }

    /// The account of an answer to signing in or up; its session never ends.
    static func signedIn(_ answer: RemoteResponse) throws(SyncFailure) -> LoginStep {
        switch BirdTubeAnswer.message(answer) {
        case "": break
        case "User not found.":
            throw SyncFailure(
                .notFound, "BirdTube knows no account with this address",
                hint: "storectl login NAME --sign-up makes one")
        case "Password is incorrect.":
            throw SyncFailure(
                .unauthorized, "BirdTube does not take the password", hint: "storectl login NAME")
        case "The email exists.":
            throw SyncFailure(
                .conditionFailed, "BirdTube has an account with this address",
                hint: "storectl login NAME, without --sign-up")
        case let message: throw SyncFailure(.remoteError, "BirdTube says: \(message)")
        }
        let failure: SyncFailure
        do throws(SyncFailure) {
            let user = try BirdTubeAnswer.element(answer)
            return try account(user, answer)
        } catch {
            failure = error
        }
        guard answer.status == 500 else { throw failure }
        // Its sample stumbles where it should refuse.
        throw SyncFailure(
            failure.code, "\(failure.message), as some servers do for a wrong address or password")
    }

    private static func account(
        _ document: JSONElement, _ answer: RemoteResponse
    ) throws(SyncFailure) -> LoginStep {
        guard let user = try? document.object("user").value,
            let email = try? user.text("email").value, !email.isEmpty,
            let session = try? user.text("session").value, !session.isEmpty
        else { throw SyncFailure(.remoteError, "BirdTube took the login and gave no session") }
        var shown = AccountSighting(email, at: BirdTube.system)
        shown.take(user, nickname: "nickname", email: "email")
        return .done(
            RemoteAccount(user: email, token: session), sightings: shown.proposals(answer))
    }
}
