internal import TapedeckModel

/// Checks the values of header fields before a library sees them, because the library's errors
/// would quote them.
enum HTTPHeader {
    /// Returns the header value for a token, without surrounding whitespace.
    ///
    /// Throws `SyncFailure` with `.usage` if the token is invalid.
    static func bearer(_ token: String) throws(SyncFailure) -> String {
        let token = token.trimmingSpace
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncFailure(
                .usage,
                token.isEmpty
                    ? "the token is empty"
                    : "the token contains a space, a line break or another invalid character",
                hint: "copy the token again, or create one with storectl token create")
        }
        return "Bearer \(token)"
    }

    /// Checks that a value is valid in a header.
    ///
    /// Throws `SyncFailure` with `.unauthorized`, so that deliveries wait for a new login; an
    /// invalid value always comes from a login's secrets. The message does not contain the value.
    static func check(_ field: RemoteRequest.Field) throws(SyncFailure) {
        guard !field.value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
            var failure = SyncFailure(
                .unauthorized,
                "the value for header \(own: field.name) contains a line break or another control character",
                hint: "run storectl login NAME again, with each secret on one line")
            failure.isUnsent = true
            throw failure
        }
    }
}

extension String {
    /// The string without surrounding whitespace and line breaks.
    package var trimmingSpace: String {
        func isSpace(_ character: Character) -> Bool {
            character.isWhitespace || character.isNewline
        }
        guard let start = firstIndex(where: { !isSpace($0) }),
            let end = lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[start...end])
    }
}
