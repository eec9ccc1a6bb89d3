package import TapedeckLog
package import TapedeckModel

/// This device's record of a remote, stored in a row of the log.
///
/// The row is written in the same transaction as the events that it refers to.
package struct RemoteRow: Hashable, Sendable {
    /// The name of the remote.
    package var name: String
    /// The time of the last response, in milliseconds since 1970; 0 if there was none.
    package var contactedAt: UInt64 = 0
    /// The end of the last complete pass over the remote's pages, in milliseconds since 1970; 0 if
    /// there was none.
    package var readAt: UInt64 = 0
    /// The current wait for the remote; nil if there is none.
    package var wait: SyncWait?
    /// The number of consecutive failures.
    package var failures: UInt32 = 0

    package init(name: String) { self.name = name }

    private static let version: UInt8 = 1
    private static let prefix = "remote/"

    static func key(_ name: String) -> String { prefix + name }

    /// The row that stores the state.
    package var row: SyncRow {
        var bytes: [UInt8] = [RemoteRow.version]
        bytes.appendLittleEndian(contactedAt)
        bytes.appendLittleEndian(readAt)
        bytes.appendLittleEndian(failures)
        RemoteRow.append(wait, to: &bytes)
        return SyncRow(RemoteRow.key(name), bytes)
    }

    /// Returns the stored state of a remote, or a new state if none is stored.
    @available(*, noasync)
    package static func named(_ name: String, in log: EventLog) throws(LogError) -> RemoteRow {
        var row = RemoteRow(name: name)
        guard let value = try log.syncRow(key(name)) else { return row }
        value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard reader.littleEndian(UInt8.self) == version,
                let contactedAt = reader.littleEndian(UInt64.self),
                let readAt = reader.littleEndian(UInt64.self),
                let failures = reader.littleEndian(UInt32.self),
                let wait = read(&reader, log.now())
            else { return }
            (row.contactedAt, row.readAt, row.failures) = (contactedAt, readAt, failures)
            row.wait = wait
        }
        return row
    }

    /// Removes all state of a remote.
    @available(*, noasync)
    package static func remove(_ name: String, in log: EventLog) throws(LogError) {
        var rows = try log.syncRows(prefix: key(name) + "/").map { SyncRow($0.name, nil) }
        rows.append(SyncRow(key(name), nil))
        try log.setSyncRows(rows)
    }

    // MARK: - Feeds and lanes

    /// Returns the rows, written by earlier versions of this program, for feeds that were read to
    /// their end.
    @available(*, noasync)
    static func former(_ remote: String, in log: EventLog) throws(LogError) -> [SyncRow] {
        try log.syncRows(prefix: "\(key(remote))/feed/")
    }

    /// A feed whose pages could not be read when they were last requested.
    package struct FailedReading: Hashable, Sendable {
        package var feed: String
        package var code: ErrorCode
        package var message: String
        /// The time of the failure, in milliseconds since 1970.
        package var at: UInt64
    }

    /// Returns the row that stores the failure to read a feed.
    static func failedReading(
        _ remote: String, _ feed: String, _ failure: SyncFailure, at now: UInt64
    ) -> SyncRow {
        var bytes: [UInt8] = []
        for text in [feed, failure.code.rawValue, failure.message] { bytes.appendPrefixed(text) }
        bytes.appendLittleEndian(now)
        return SyncRow(failedReading(remote, feed), bytes)
    }

    /// Returns a row without a value; writing the row deletes the stored failure to read a feed.
    static func endedFailure(_ remote: String, _ feed: String) -> SyncRow {
        SyncRow(failedReading(remote, feed), nil)
    }

    private static func failedReading(_ remote: String, _ feed: String) -> String {
        "\(key(remote))/failed/\(Digest16(hashing: Array(feed.utf8)).text)"
    }

    /// Returns the feeds that could not be read when they were last requested.
    @available(*, noasync)
    package static func failedReadings(
        _ remote: String, in log: EventLog
    ) throws(LogError) -> [FailedReading] {
        try log.syncRows(prefix: "\(key(remote))/failed/").compactMap { row in
            row.value?.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                guard let feed = reader.prefixedString(), let code = reader.prefixedString(),
                    let message = reader.prefixedString(),
                    let at = reader.littleEndian(UInt64.self)
                else { return nil }
                return FailedReading(
                    feed: feed, code: ErrorCode(rawValue: code), message: message, at: at)
            }
        }
    }

    /// Returns the prefix of the rows that mark refusals as reported.
    static func reportedPrefix(_ remote: String) -> String { "\(key(remote))/reported/" }

    /// Returns the row that marks the refusal of an intent as reported.
    static func reported(_ remote: String, _ event: EventID, _ end: OutboxItem.Part) -> SyncRow {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(end.milliseconds)
        bytes.appendPrefixed(end.origin.description)
        return SyncRow(reportedPrefix(remote) + event.description, bytes)
    }

    /// Returns the row for a linked feed that has not been read yet.
    static func lead(_ remote: String, _ lead: FeedLead) -> SyncRow {
        var bytes = place(of: lead.page)
        if let version = lead.version { bytes.appendPrefixed(version) }
        if lead.isEmpty { bytes.append(1) }
        return SyncRow(endedLead(remote, lead.page).name, bytes)
    }

    /// Returns a row without a value; writing the row deletes a linked feed.
    static func endedLead(_ remote: String, _ page: RemotePage) -> SyncRow {
        SyncRow("\(key(remote))/lead/\(Digest16(hashing: place(of: page)).text)", nil)
    }

    /// Returns the linked feeds that have not been read yet.
    @available(*, noasync)
    static func leads(_ remote: String, in log: EventLog) throws(LogError) -> [FeedLead] {
        try log.syncRows(prefix: "\(key(remote))/lead/").compactMap { row in
            row.value?.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                guard let feed = reader.prefixedString(), let place = reader.prefixedString() else {
                    return nil
                }
                return FeedLead(
                    RemotePage(feed, place), version: reader.prefixedString(),
                    isEmpty: reader.littleEndian(UInt8.self) == 1)
            }
        }
    }

    static func place(of page: RemotePage) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendPrefixed(page.feed)
        bytes.appendPrefixed(page.place)
        return bytes
    }

    /// Returns the row that stores the wait of a lane; if the wait is nil, writing the row deletes
    /// the stored wait.
    static func lane(_ remote: String, _ lane: String, _ wait: LaneWait?) -> SyncRow {
        let name = "\(key(remote))/lane/\(Digest16(hashing: Array(lane.utf8)).text)"
        guard let wait else { return SyncRow(name, nil) }
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(wait.failures)
        append(wait.wait, to: &bytes)
        bytes.appendPrefixed(lane)
        return SyncRow(name, bytes)
    }

    @available(*, noasync)
    static func lane(
        _ remote: String, _ lane: String, in log: EventLog
    ) throws(LogError) -> LaneWait? {
        guard let value = try log.syncRow(RemoteRow.lane(remote, lane, nil).name) else {
            return nil
        }
        return value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard let failures = reader.littleEndian(UInt32.self),
                let wait = read(&reader, log.now()),
                let wait
            else { return nil }
            return LaneWait(failures: failures, wait: wait)
        }
    }

    /// Returns the waiting lanes of a remote, with their names; rows without a name are skipped.
    @available(*, noasync)
    static func lanes(
        _ remote: String, in log: EventLog
    ) throws(LogError) -> [(name: String, wait: SyncWait)] {
        try log.syncRows(prefix: "\(key(remote))/lane/").compactMap { row in
            row.value?.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                guard reader.littleEndian(UInt32.self) != nil, let wait = read(&reader, log.now()),
                    let wait,
                    let name = reader.prefixedString()
                else { return nil }
                return (name, wait)
            }
        }
    }

    private static func append(_ wait: SyncWait?, to bytes: inout [UInt8]) {
        bytes.append(wait.map { $0.isAsked ? 2 : 1 } ?? 0)
        guard let wait else { return }
        bytes.appendPrefixed(wait.reason.rawValue)
        bytes.appendPrefixed(wait.message)
        bytes.appendLittleEndian(wait.until)
    }

    /// Reads a wait written by `append`; the outer nil means that the bytes are invalid.
    ///
    /// A wait that would last longer than any wait ends now, because the clock has been set back.
    private static func read(_ reader: inout ByteReader, _ now: UInt64) -> SyncWait?? {
        guard let isThere = reader.littleEndian(UInt8.self) else { return nil }
        guard isThere > 0 else { return .some(nil) }
        guard let reason = reader.prefixedString(), let message = reader.prefixedString(),
            let until = reader.littleEndian(UInt64.self)
        else { return nil }
        let isAsked = isThere == 2
        let longest = isAsked ? RetryAfter.secondsMax * 1_000 : Backoff.waitMax
        return .some(
            SyncWait(
                reason: ErrorCode(rawValue: reason), message: message,
                until: until > now + longest ? now : until, isAsked: isAsked))
    }
}

/// The wait of one lane, and the number of failures that caused the wait; other lanes continue.
struct LaneWait: Hashable {
    var failures: UInt32
    var wait: SyncWait
}

extension Digest16 {
    /// The digest as 32 hexadecimal digits.
    var text: String { OriginID(high: high, low: low).description }
}
