package import SwiftProtobuf
package import TapedeckModel

/// Checks of single fields; each throws a `ModelError` that begins with the field's JSON name.
package enum FieldChecks {
    /// A remote's id: not empty, no control characters.
    package static func id(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { throw invalid(field, "is missing or empty") }
        try size(value, field, FieldLimits.idBytesMax)
        guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw invalid(field, "holds a control character")
        }
    }

    /// An id that is a number of the remote.
    package static func id(_ value: Int64, _ field: String) throws(ModelError) {
        guard value > 0 else { throw invalid(field, "is missing or not above 0") }
    }

    /// Any text.
    package static func text(_ value: String, _ field: String) throws(ModelError) {
        try size(value, field, FieldLimits.textBytesMax)
    }

    /// A URL of any scheme; it is kept as it came, so only its size and its bytes are checked.
    package static func url(_ value: String, _ field: String) throws(ModelError) {
        guard !value.isEmpty else { throw invalid(field, "is missing or empty") }
        try size(value, field, FieldLimits.urlBytesMax)
        guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw invalid(field, "holds a control character")
        }
    }

    /// A position or a duration.
    package static func seconds(_ value: Double, _ field: String) throws(ModelError) {
        guard value.isFinite, value >= 0, value <= FieldLimits.secondsMax else {
            throw invalid(field, "is not between 0 and \(Int(FieldLimits.secondsMax)) seconds")
        }
    }

    /// A time from 1970 to 9999.
    package static func time(
        _ value: Google_Protobuf_Timestamp, _ field: String
    ) throws(ModelError) {
        try moment(value, field)
        guard Timestamps.recorded.contains(value.milliseconds) else {
            throw invalid(field, "is not a time from 1970 to 9999")
        }
    }

    /// A time of any year from 1 to 9999; what was broadcast may be older than 1970.
    package static func moment(
        _ value: Google_Protobuf_Timestamp, _ field: String
    ) throws(ModelError) {
        let seconds = Timestamps.whole.lowerBound / 1_000..<Timestamps.whole.upperBound / 1_000
        guard seconds.contains(value.seconds), (0..<1_000_000_000).contains(value.nanos) else {
            throw invalid(field, "is not a time of the years 1 to 9999")
        }
    }

    /// A calendar day, `YYYY-MM-DD`.
    package static func day(_ value: String, _ field: String) throws(ModelError) {
        guard CalendarDay(value) != nil else {
            throw invalid(field, "is not a day, such as 2019-07-11")
        }
    }

    /// A time of day, `HH:MM`; empty where none is known.
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

    /// A list.
    package static func list(_ count: Int, _ field: String) throws(ModelError) {
        guard count <= FieldLimits.listCountMax else {
            throw ModelError(
                .tooLarge,
                "\(field) has \(count) entries; the limit is \(FieldLimits.listCountMax)")
        }
    }

    /// A video by its key or by a URL, as its key.
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
            throw ModelError(.tooLarge, "\(field) has \(count) bytes; the limit is \(limit)")
        }
    }
}
