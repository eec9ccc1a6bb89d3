internal import TapedeckModel
internal import TapedeckProjections

/// An answer that a device records in segments, until the segments are merged into one video.
///
/// ```
///              segment recorded, removed
///                   ┌──────┐
///                   ▼      │      merge started
/// (none) ─────────▶ recorded ─────────────────────▶ merging ─────▶ ended: there is an AnswerRecorded
///         a segment    ▲                               │
///         is recorded  └───────────────────────────────┘
///                        merge failed, segment removed
/// ```
///
/// A recording cannot be merged if its segments are too long in total. Commands never create such a
/// recording, but several devices that record under the same name can create one together.
struct AnswerRecording: Equatable {
    /// A segment of a recording.
    struct Segment: Equatable {
        var name: String
        var blob: String
        var seconds: Double
    }

    var name: String
    /// The time at which the first segment was recorded, in Unix milliseconds.
    var at: Int64
    /// The segments, in order; empty once the recording has ended.
    var segments: [Segment] = []
    /// The names of the segments being merged; nil if no merge is in progress.
    var merging: [String]?
    /// The reason why the last merge failed; nil if it did not fail.
    var failure: String?
    /// Whether the recording has ended with an `AnswerRecorded`; if so, later changes are ignored.
    var hasEnded = false

    init(name: String, at: Int64) {
        self.name = name
        self.at = at
    }

    var length: AnswerLength { AnswerLength(sum: segments.lazy.map(\.seconds)) }

    mutating func take(_ segment: AnswerSegmentRecorded) {
        guard !segments.contains(where: { $0.name == segment.segment }) else { return }
        segments.append(
            Segment(name: segment.segment, blob: segment.blob, seconds: segment.durationSeconds))
    }

    mutating func remove(_ segment: String) {
        guard segments.contains(where: { $0.name == segment }) else { return }
        segments.removeAll { $0.name == segment }
        if merging?.contains(segment) == true { merging = nil }
    }

    mutating func merge(_ names: [String]) {
        guard names.allSatisfy({ name in segments.contains { $0.name == name } }) else { return }
        (merging, failure) = (names, nil)
    }

    mutating func fail(_ reason: String) {
        guard merging != nil else { return }
        (merging, failure) = (nil, reason)
    }

    mutating func end() { (segments, merging, failure, hasEnded) = ([], nil, nil, true) }

    init(decoding reader: inout StateReader) throws(ModelError) {
        name = try reader.string()
        at = try reader.int64()
        segments = try reader.array { (reader) throws(ModelError) in
            Segment(
                name: try reader.string(), blob: try reader.string(), seconds: try reader.double())
        }
        merging = try reader.optional { (reader) throws(ModelError) in
            try reader.array { (reader) throws(ModelError) in try reader.string() }
        }
        failure = try reader.optionalString()
        hasEnded = try reader.bool()
    }

    func encode(into writer: inout StateWriter) {
        writer.add(name)
        writer.add(at)
        writer.add(segments) {
            $0.add($1.name)
            $0.add($1.blob)
            $0.add($1.seconds)
        }
        writer.add(merging) { $0.add($1) { $0.add($1) } }
        writer.add(failure)
        writer.add(hasEnded)
    }
}
