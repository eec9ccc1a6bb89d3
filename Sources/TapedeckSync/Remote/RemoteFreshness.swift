internal import Foundation
package import TapedeckLog
internal import TapedeckModel

/// The time span in which a response is fresh, in milliseconds since 1970.
package struct FreshSpan: Hashable, Sendable {
    package var since: UInt64
    package var until: UInt64

    package init(since: UInt64, until: UInt64) {
        self.since = since
        self.until = until
    }

    /// Returns whether the response is fresh at `now`; false if the clock was set back to a time
    /// before the response.
    func holds(at now: UInt64) -> Bool { since <= now && now < until }
}

/// The pages of a remote that need not be requested yet, according to their last responses.
///
/// The pages are stored in rows of the log, so that other processes can use them.
package struct RemoteFreshness: Sendable {
    /// The maximum number of fresh pages to keep at the start of a pass; if there are more, the
    /// pages that expire first are dropped.
    package static let pagesMax = 2_000

    /// The time span in which each page is fresh, by row name.
    private var spans: [String: FreshSpan] = [:]

    init() {}

    /// Reads the fresh pages of a remote and removes the expired pages.
    @available(*, noasync)
    package init(_ remote: Remote, at now: UInt64, in log: EventLog) throws(LogError) {
        let rows = try RemoteRow.fresh(remote.name, in: log)
        let held = rows.filter { $0.span?.holds(at: now) == true }
            .sorted { ($0.span?.until ?? 0, $0.name) > ($1.span?.until ?? 0, $1.name) }
            .prefix(RemoteFreshness.pagesMax)
        for row in held { spans[row.name] = row.span }
        let ended = rows.filter { spans[$0.name] == nil }.map { SyncRow($0.name, nil) }
        if !ended.isEmpty { try log.setSyncRows(ended) }
    }

    /// Returns the time at which a page stops being fresh; nil if it is not fresh now.
    package func end(of page: RemotePage, _ remote: Remote, at now: UInt64) -> UInt64? {
        guard !spans.isEmpty, let span = spans[RemoteRow.fresh(remote, page, nil).name] else {
            return nil
        }
        return span.holds(at: now) ? span.until : nil
    }

    /// Stores the time span in which a response is fresh, and returns the row for the log.
    mutating func take(
        _ page: RemotePage, _ remote: Remote, _ response: RemoteResponse, at now: UInt64
    ) -> SyncRow {
        let time = response.freshFor
        let span = time > 0 ? FreshSpan(since: now, until: now + time) : nil
        let row = RemoteRow.fresh(remote, page, span)
        spans[row.name] = span
        return row
    }
}

extension RemoteRow {
    /// Returns the row that stores the time span of a page at a remote's address; with a nil span,
    /// writing the row deletes it.
    package static func fresh(_ remote: Remote, _ page: RemotePage, _ span: FreshSpan?) -> SyncRow {
        var bytes: [UInt8] = []
        bytes.appendPrefixed(remote.url)
        bytes.appendPrefixed(page.feed)
        bytes.appendPrefixed(page.place)
        let name = RemoteRow.freshPrefix(remote.name) + Digest16(hashing: bytes).text
        guard let span else { return SyncRow(name, nil) }
        var value: [UInt8] = []
        value.appendLittleEndian(span.since)
        value.appendLittleEndian(span.until)
        return SyncRow(name, value)
    }

    /// Returns the stored spans of pages; the span is nil if a row is invalid.
    @available(*, noasync)
    fileprivate static func fresh(
        _ remote: String, in log: EventLog
    ) throws(LogError) -> [(name: String, span: FreshSpan?)] {
        try log.syncRows(prefix: freshPrefix(remote)).map { row in
            let span = row.value?.withUnsafeBytes { bytes -> FreshSpan? in
                var reader = ByteReader(bytes)
                guard let since = reader.littleEndian(UInt64.self),
                    let until = reader.littleEndian(UInt64.self)
                else { return nil }
                return FreshSpan(since: since, until: until)
            }
            return (row.name, span ?? nil)
        }
    }

    private static func freshPrefix(_ remote: String) -> String { "\(key(remote))/fresh/" }
}

extension RemoteResponse {
    /// The maximum time, in milliseconds, for which a response can be fresh.
    package static let freshMax: UInt64 = 86_400_000

    /// The time, in milliseconds, for which the response is fresh.
    ///
    /// This is the `max-age` of `Cache-Control` minus the `Age` header; 0 if there is no `max-age`
    /// or if caching is not allowed.
    package var freshFor: UInt64 {
        let directives = headers.filter { $0.name.lowercased() == "cache-control" }
            .flatMap { $0.value.lowercased().split(separator: ",") }
            .map { $0.split(separator: "=", maxSplits: 1).map(RemoteResponse.bare) }
        var ages: [UInt64] = []
        for directive in directives {
            switch directive.first {
            case "no-store", "no-cache": return 0
            case "max-age": ages.append(RemoteResponse.seconds(directive.last) ?? 0)
            default: break
            }
        }
        let age = RemoteResponse.seconds(header("Age").map { RemoteResponse.bare($0[...]) }) ?? 0
        // If there are several values, use the smallest value.
        let left = (ages.min() ?? 0).subtractingReportingOverflow(age)
        return left.overflow ? 0 : left.partialValue * 1_000
    }

    /// Parses a number of seconds, limited to `freshMax`; returns nil if the string is not a
    /// number.
    private static func seconds(_ text: String?) -> UInt64? {
        guard let text, !text.isEmpty,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return min(UInt64(text) ?? .max, freshMax / 1_000)
    }

    /// Returns a string without the spaces, tabs and quotes around it.
    private static func bare(_ text: Substring) -> String {
        text.trimmingCharacters(in: .init(charactersIn: " \t\""))
    }
}
