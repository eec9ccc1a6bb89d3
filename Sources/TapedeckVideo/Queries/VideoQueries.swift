public import TapedeckModel
public import TapedeckProjections

/// What can be asked of this domain's projections, all as of the reader's log position.
///
/// ```swift
/// let queries = VideoQueries(reader)
/// let page = try queries.videos(limit: 20)
/// let more = try queries.videos(limit: 20, cursor: page.next)
/// ```
///
/// The results encode to the JSON of `schema/cli.md`: every field is present, unknown is null.
/// Everything throws what the reader throws, and `ModelError` with `.usage` for a limit or a cursor
/// that makes no sense.
public struct VideoQueries<Reader: ViewReader> {
    let reader: Reader
    let projections: VideoProjections

    /// Asks `reader`, which must hold `projections`.
    public init(_ reader: Reader, projections: VideoProjections = .standard) {
        self.reader = reader
        self.projections = projections
    }
}

/// The limits of `VideoQueries`.
public enum QueryLimits {
    /// How many entries a page has where nothing is said.
    public static let pageCountDefault = 50
    /// The most entries that a page has.
    public static let pageCountMax = 500
    /// The most comments that a list of videos holds of each; `comments` pages through all.
    public static let commentsPerVideoMax = 100
    /// The most broadcasts that `news` cuts its view to.
    public static let newsCountMax = 1_000
    /// The most ids of broadcasts that a page of duplicates holds.
    public static let broadcastsPerPageMax = 100_000

    /// Throws `ModelError` with `.usage` for a limit that no page has.
    public static func check(_ limit: Int) throws(ModelError) {
        guard (1...pageCountMax).contains(limit) else {
            throw ModelError(.usage, "a limit of \(limit) is not between 1 and \(pageCountMax)")
        }
    }
}

extension VideoQueries {
    /// A page of a projection's rows, and the cursor of the next one.
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

    /// A page of one list with another behind it: what waits here, and what remotes show.
    ///
    /// - Parameter first: the list in front, of which a page is asked for only while it lasts.
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
        // The page is full of the last of the first list: its end leads on, if there is more.
        let (more, _) = try secondPage(1, nil)
        guard !more.isEmpty else { return (front, nil) }
        return (front, PageCursor.text(first, PageCursor.end))
    }

    /// The tag that a row's key ends with, behind `prefix` bytes of numbers.
    func tag(_ kind: String, in row: Row, after prefix: Int) -> Tag {
        // `RowKey.text` ends in a zero byte.
        Tag(unchecked: kind + "/" + Array(row.key.dropFirst(prefix).dropLast()).utf8Text)
    }
}
