internal import TapedeckModel

/// Values of header fields, checked before a library sees them: what refuses a value repeats it in its error.
enum HTTPHeader {
    /// A token as it is sent, without the space around it.
    ///
    /// Throws `SyncFailure` with `.usage` for what cannot be one.
    static func bearer(_ token: String) throws(SyncFailure) -> String {
        let token = token.trimmingSpace
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncFailure(
                .usage,
                token.isEmpty
                    ? "the token is empty"
                    : "the token has a space, a line break or another character that no token has",
                hint: "copy it again; storectl serve and storectl token create say where one is")
        }
        return "Bearer \(token)"
    }

    /// Makes sure that a header can hold a value.
    ///
    /// Throws `SyncFailure` with `.unauthorized`, which does not contain the value: only a login's secrets come from
    /// outside, and a delivery waits for a better login.
    static func check(_ field: RemoteRequest.Field) throws(SyncFailure) {
        guard !field.value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
            var failure = SyncFailure(
                .unauthorized,
                "the value of the header \(field.name) contains a line break or another control character",
                hint: "storectl login NAME, with secrets that are on one line each")
            failure.isUnsent = true
            throw failure
        }
    }
}

extension String {
    /// Without the space and line breaks around it.
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
