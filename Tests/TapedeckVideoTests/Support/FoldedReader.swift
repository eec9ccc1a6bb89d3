import TapedeckModel
import TapedeckProjections
import TapedeckVideo

/// Reads projections that were folded in memory.
struct FoldedReader: ViewReader {
    private var views: [String: any FoldedViews] = [:]

    init(_ events: [RecordedEvent], _ projections: VideoProjections = .standard) throws {
        try self.init(events, projections.all)
    }

    init(_ events: [RecordedEvent], _ projections: [any Projection]) throws {
        for projection in projections {
            views[projection.name] = try folded(projection, events)
        }
    }

    func state<P: Projection>(of projection: P, key: Tag) throws -> P.State? {
        try views[projection.name]?.stateBytes(key)?.withUnsafeBytes { buffer in
            var reader = StateReader(buffer)
            return try P.State(decoding: &reader)
        }
    }

    func item(of projection: some Projection, key: Tag, name: RowKey) throws -> [UInt8]? {
        views[projection.name]?.items(key).first { $0.key == name.bytes }?.value
    }

    func items(
        of projection: some Projection, key: Tag, prefix: RowKey, after: [UInt8]?, limit: Int
    ) throws -> [Row] {
        let items = views[projection.name]?.items(key) ?? []
        return Array(
            items.filter { row in
                row.key.starts(with: prefix.bytes)
                    && after.map { $0.lexicographicallyPrecedes(row.key) } ?? true
            }.prefix(limit))
    }

    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?, after: [UInt8]?,
        limit: Int
    ) throws -> [Row] {
        let rows = views[projection.name]?.rows(table) ?? []
        return Array(
            rows.filter { row in
                lower.map { !row.key.lexicographicallyPrecedes($0.bytes) } ?? true
                    && upper.map { row.key.lexicographicallyPrecedes($0.bytes) } ?? true
                    && after.map { $0.lexicographicallyPrecedes(row.key) } ?? true
            }.prefix(limit))
    }

    func rows(
        of projection: some Projection, table: Int, lower: RowKey?, upper: RowKey?,
        before: [UInt8]?, limit: Int
    ) throws -> [Row] {
        let all = try rows(
            of: projection, table: table, lower: lower, upper: upper, after: nil, limit: .max)
        return Array(
            all.reversed().drop { row in
                before.map { !row.key.lexicographicallyPrecedes($0) } ?? false
            }.prefix(limit))
    }
}

/// Returns queries that read the projections folded from the given events.
func queries(
    _ events: [RecordedEvent], _ projections: VideoProjections = .standard
) throws -> VideoQueries<FoldedReader> {
    VideoQueries(try FoldedReader(events, projections), projections: projections)
}
