public import TapedeckModel
public import TapedeckProjections

/// Queries on the projections of the video domain at the reader's log position.
///
/// ```swift
/// let queries = VideoQueries(reader)
/// let page = try queries.videos(limit: 20)
/// let more = try queries.videos(limit: 20, cursor: page.next)
/// ```
///
/// The results encode to the JSON described in `schema/cli.md`: every field is present, and unknown
/// values are `null`. Queries rethrow the reader's errors, and throw `ModelError` with `.usage` for
/// an invalid limit or cursor.
public struct VideoQueries<Reader: ViewReader> {
    let reader: Reader
    let projections: VideoProjections

    /// Creates queries on `reader`, which must contain `projections`.
    public init(_ reader: Reader, projections: VideoProjections = .standard) {
        self.reader = reader
        self.projections = projections
    }
}

/// The limits of `VideoQueries`.
public enum QueryLimits {
    /// The number of entries on a page if the caller sets no limit.
    public static let pageCountDefault = 50
    /// The maximum number of entries on a page.
    public static let pageCountMax = 500
    /// The maximum number of comments per video in a list of videos; `comments` returns all
    /// comments, page by page.
    public static let commentsPerVideoMax = 100
    /// The maximum value of `newest` in `news`.
    public static let newsCountMax = 1_000
    /// A page of duplicates ends once it contains this many broadcast ids.
    public static let broadcastsPerPageMax = 100_000

    /// Throws `ModelError` with `.usage` if `limit` is not between 1 and `pageCountMax`.
    public static func check(_ limit: Int) throws(ModelError) {
        guard (1...pageCountMax).contains(limit) else {
            throw ModelError(.usage, "the limit must be 1 to \(pageCountMax), not \(limit)")
        }
    }
}

extension VideoQueries {
    /// Returns a page of a projection's rows and the cursor of the next page.
    func page(
        of projection: some Projection, table: Int = 0, _ list: PageCursor.List, limit: Int,
        cursor: String?, within bounds: (lower: RowKey, upper: RowKey)? = nil
    ) throws -> (rows: [Row], next: String?) {
        try QueryLimits.check(limit)
        var rows = try reader.rows(
            of: projection, table: table, lower: bounds?.lower, upper: bounds?.upper,
            after: PageCursor.key(list, cursor), limit: limit + 1)
        guard rows.count > limit else { return (rows, nil) }
        rows.removeLast(rows.count - limit)
        return (rows, rows.last.map { PageCursor.text(list, $0.key) })
    }

    /// Returns a page of two consecutive lists: pending entries, then entries that remotes show.
    ///
    /// - Parameter first: The list that is read first; when it ends, the second list follows.
    func page<Entry>(
        _ first: PageCursor.List, of firstPage: (Int, String?) throws -> ([Entry], next: String?),
        then secondPage: (Int, String?) throws -> ([Entry], next: String?), limit: Int,
        cursor: String?
    ) throws -> (entries: [Entry], next: String?) {
        try QueryLimits.check(limit)
        if let cursor, !PageCursor.isOf(first, cursor) { return try secondPage(limit, cursor) }
        let (front, next) = try firstPage(limit, cursor)
        if let next { return (front, next) }
        if front.count < limit {
            let (back, next) = try secondPage(limit - front.count, nil)
            return (front + back, next)
        }
        // The page ends with the last row of the first list. The page's cursor leads to the second
        // list, unless the second list is empty.
        let (more, _) = try secondPage(1, nil)
        guard !more.isEmpty else { return (front, nil) }
        return (front, PageCursor.text(first, PageCursor.end))
    }

    /// Returns the tag at the end of a row's key, after `prefix` bytes.
    func tag(_ kind: String, in row: Row, after prefix: Int) -> Tag {
        // `RowKey.text` ends in a zero byte.
        let name = row.key.dropFirst(prefix).dropLast()
        return Tag(unchecked: kind + "/" + String(decoding: name, as: UTF8.self))
    }
}
