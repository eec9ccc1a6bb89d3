package import SwiftProtobuf
package import TapedeckModel

/// Checks for individual fields.
///
/// Each check throws a `ModelError` whose message begins with the field's JSON name.
package enum FieldChecks {
    /// Checks that a remote's id is neither empty nor too long, and contains no control characters.
    package static func id(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { throw invalid(field, "is missing or empty") }
        try size(value, field, FieldLimits.idBytesMax)
        guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw invalid(field, "contains a control character")
        }
    }

    /// Checks a remote's numeric id.
    package static func id(_ value: Int64, _ field: String) throws(ModelError) {
        guard value > 0 else { throw invalid(field, "is missing or not above 0") }
    }

    /// Checks the size of a text field.
    package static func text(_ value: String, _ field: String) throws(ModelError) {
        try size(value, field, FieldLimits.textBytesMax)
    }

    /// Checks a URL of any scheme.
    ///
    /// The URL is stored unchanged, so only its size and its bytes are checked.
    package static func url(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { throw invalid(field, "is missing or empty") }
        try size(value, field, FieldLimits.urlBytesMax)
        guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw invalid(field, "contains a control character")
        }
    }

    /// Checks an absolute URL that can be requested over HTTP.
    package static func webURL(_ value: String, _ field: String) throws(ModelError) {
        try url(value, field)
        guard isWebURL(value) else { throw invalid(field, "is not an http or https URL") }
    }

    /// Returns whether a string is an absolute URL with the scheme `http` or `https` and a host.
    package static func isWebURL(_ value: String) -> Bool {
        guard let end = value.firstRange(of: "://")?.lowerBound,
            ["http", "https"].contains(value[..<end].lowercased())
        else { return false }
        let host = value[end...].dropFirst(3).prefix { !"/?#".contains($0) }
        return !host.isEmpty && !host.contains(where: \.isWhitespace)
    }

    /// Checks an email address: one "@" with text on both sides, and no whitespace, comma or
    /// semicolon.
    package static func email(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { throw invalid(field, "is missing or empty") }
        try size(value, field, FieldLimits.emailBytesMax)
        let parts = value.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            !value.contains(where: { $0.isWhitespace || $0 == "," || $0 == ";" })
        else { throw invalid(field, "\"\(value.prefix(80))\" is not an email address") }
    }

    /// Checks a position or a duration.
    package static func seconds(_ value: Double, _ field: String) throws(ModelError) {
        guard value.isFinite, value >= 0, value <= FieldLimits.secondsMax else {
            throw invalid(field, "is not between 0 and \(Int(FieldLimits.secondsMax)) seconds")
        }
    }

    /// Checks a time from 1970 to 9999.
    package static func time(
        _ value: Google_Protobuf_Timestamp, _ field: String
    ) throws(ModelError) {
        try moment(value, field)
        guard Timestamps.recorded.contains(value.milliseconds) else {
            throw invalid(
                field,
                "is \(Timestamps.text(milliseconds: value.milliseconds)), not a time from 1970 to 9999"
            )
        }
    }

    /// Checks a time in the years 1 to 9999.
    ///
    /// Times before 1970 are valid, because an episode may have aired then.
    package static func moment(
        _ value: Google_Protobuf_Timestamp, _ field: String
    ) throws(ModelError) {
        let seconds = Timestamps.whole.lowerBound / 1_000..<Timestamps.whole.upperBound / 1_000
        guard seconds.contains(value.seconds), (0..<1_000_000_000).contains(value.nanos) else {
            throw invalid(
                field,
                "is \(value.seconds) s and \(value.nanos) ns after 1970, not a time in the years 1"
                    + " to 9999")
        }
    }

    /// Checks a calendar day in the format `YYYY-MM-DD`.
    package static func day(_ value: String, _ field: String) throws(ModelError) {
        guard CalendarDay(value) != nil else {
            throw invalid(field, "is not a day, such as 2019-07-11")
        }
    }

    /// Checks a time of day in the format `HH:MM`; an unknown time is an empty string.
    package static func timeOfDay(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { return }
        let parts = value.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.count == 2 ? UInt8(String(decoding: part, as: UTF8.self)) : nil
        }
        guard parts.count == 2, numbers.count == 2, numbers[0] < 24, numbers[1] < 60 else {
            throw invalid(field, "is not a time of day, such as 21:30")
        }
    }

    /// Checks the number of entries in a list.
    package static func list(_ count: Int, _ field: String) throws(ModelError) {
        guard count <= FieldLimits.listCountMax else {
            throw ModelError(
                .tooLarge,
                "\(field) has \(count) entries; the limit is \(FieldLimits.listCountMax)")
        }
    }

    /// Checks a video's key or URL, and returns the key.
    package static func video(_ value: String, _ field: String) throws(ModelError) -> VideoKey {
        guard value.utf8.contains(where: { !VideoKey.isSpace($0) }) else {
            throw ModelError(
                .invalidPayload, "\(field) is missing or empty", hint: VideoKey.formHint)
        }
        do {
            return try VideoKey(value)
        } catch {
            throw ModelError(error.code, "\(field): \(error.message)", hint: error.hint)
        }
    }

    package static func invalid(_ field: String, _ what: String) -> ModelError {
        ModelError(.invalidPayload, "\(field) \(what)")
    }

    private static func size(
        _ value: String, _ field: String, _ limit: Int
    ) throws(ModelError) {
        let count = value.utf8.count
        guard count <= limit else {
            throw ModelError(.tooLarge, "\(field) is \(count) bytes long; the limit is \(limit)")
        }
    }
}
