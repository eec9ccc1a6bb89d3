internal import TapedeckModel
internal import TapedeckSync
internal import TapedeckVideo

/// A response from BirdTube's server: an object whose `result` reports success or failure.
enum BirdTubeAnswer {
    /// Returns the object of a successful response.
    static func element(_ response: RemoteResponse) throws(SyncFailure) -> JSONElement {
        let element = try object(response)
        do throws(IngestRefusal) {
            try check(element)
        } catch {
            throw SyncFailure(error.code, error.text)
        }
        return element
    }

    /// Returns the object of a response, which may report an error.
    static func object(_ response: RemoteResponse) throws(SyncFailure) -> JSONElement {
        // The API itself always uses status 200, even for errors.
        if let failure = response.failure { throw failure }
        guard
            let document = try? JSONParser.parse(
                response.body, bytesMax: IngestResource.documentBytesMax),
            let element = try? JSONElement(document, at: "$")
        else { throw .unexpected("BirdTube", expected: "a JSON object") }
        return element
    }

    /// Throws `.remoteError` unless the response reports success.
    static func check(_ element: JSONElement) throws(IngestRefusal) {
        switch try? element.text("result").value {
        case "success": return
        case "error":
            throw IngestRefusal(
                element.path, .remoteError, "BirdTube returned an error: \(message(of: element))")
        default:
            throw IngestRefusal(
                element.path, .remoteError, "BirdTube returned neither success nor an error")
        }
    }

    /// Returns the message of an error response; empty for a success.
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

    /// Returns the elements of a list in a successful response.
    static func list(
        _ name: String, of response: RemoteResponse
    ) throws(SyncFailure) -> [JSONValue] {
        let element = try element(response)
        guard let list = try? element.list(name) else {
            throw .unexpected("BirdTube", expected: "an object with the list \(own: name)")
        }
        return list
    }
}

/// The credentials for a login to BirdTube, and the resulting account.
enum BirdTubeAccount {
    static func check(_ secrets: RemoteSecrets) throws(SyncFailure) {
        guard !secrets.user.isEmpty, !secrets.password.isEmpty else {
            throw SyncFailure(
                .unauthorized, "BirdTube requires an email address and a password",
                hint: "run storectl login NAME --user ADDRESS with the password on standard input")
        }
    }

    /// Returns the account in the response to a sign-in or sign-up; its session never ends.
    static func signedIn(_ answer: RemoteResponse) throws(SyncFailure) -> LoginStep {
        switch BirdTubeAnswer.message(answer) {
        case "": break
        case "User not found.":
            throw SyncFailure(
                .notFound, "BirdTube has no account with this address",
                hint: "storectl login NAME --sign-up creates one")
        case "Password is incorrect.":
            throw SyncFailure(.unauthorized, "BirdTube rejected the password")
        case "The email exists.":
            throw SyncFailure(
                .conditionFailed, "BirdTube already has an account with this address",
                hint: "run storectl login NAME without --sign-up")
        case let message: throw SyncFailure(.remoteError, "BirdTube returned an error: \(message)")
        }
        let failure: SyncFailure
        do throws(SyncFailure) {
            let user = try BirdTubeAnswer.element(answer)
            return try account(user, answer)
        } catch {
            failure = error
        }
        guard answer.status == 500 else { throw failure }
        // BirdTube's sample server crashes on credentials that it should reject.
        throw SyncFailure(
            failure.code,
            "\(failure.text), which some servers return for a wrong address or password",
            hint: "check the email address and the password, then log in again")
    }

    private static func account(
        _ document: JSONElement, _ answer: RemoteResponse
    ) throws(SyncFailure) -> LoginStep {
        guard let user = try? document.object("user").value,
            let email = try? user.text("email").value, !email.isEmpty,
            let session = try? user.text("session").value, !session.isEmpty
        else { throw SyncFailure(.remoteError, "BirdTube accepted the login but sent no session") }
        var shown = AccountObservation(email, at: BirdTube.system)
        shown.take(user, nickname: "nickname", email: "email")
        return .done(
            RemoteAccount(user: email, token: session), observations: shown.proposals(answer))
    }
}
