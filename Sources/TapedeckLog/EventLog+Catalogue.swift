package import TapedeckModel
internal import TapedeckLMDB

/// The views file of a projection.
///
/// An entry is a row of the log's `meta` table, so switching from one file to another takes only
/// one durable write.
package struct ViewsEntry: Hashable, Sendable {
    /// The number in the file name `views-<number>.mdb`.
    package var number: UInt64
    /// The system boot during which the file was last written without a sync; empty if all its data
    /// is on disk.
    package var boot: String

    package init(number: UInt64, boot: String) {
        self.number = number
        self.boot = boot
    }
}

extension EventLog {
    private static func key(_ fingerprint: Digest16) -> [UInt8] {
        MetaKey.catalogue(fingerprint.high.paddedHex + fingerprint.low.paddedHex)
    }

    /// Returns the file of a projection; nil if there is none, or if its row is damaged.
    package func viewsEntry(_ fingerprint: Digest16) throws(LogError) -> ViewsEntry? {
        try read { transaction in
            try self.viewsEntry(fingerprint, transaction)
        }
    }

    private func viewsEntry(
        _ fingerprint: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> ViewsEntry? {
        let key = EventLog.key(fingerprint)
        return try undamaged { try transaction.meta(tables, key) }.flatMap(EventLog.entry)
    }

    /// Returns the value of a row that can be rebuilt, or nil if the row is damaged.
    private func undamaged<Value>(_ read: () throws -> Value?) throws -> Value? {
        do {
            return try read()
        } catch let error as LogError where error.code == .damaged {
            return nil
        }
    }

    private static func entry(_ bytes: UnsafeRawBufferPointer) -> ViewsEntry? {
        var reader = ByteReader(bytes)
        guard let number = reader.number(), let boot = reader.prefixedString()
        else {
            return nil
        }
        return ViewsEntry(number: number, boot: boot)
    }

    /// Returns the rows that assign files to projections; the entry of a damaged row is nil.
    static func viewsRows(
        _ transaction: borrowing some Readable & ~Copyable, _ tables: LogTables
    ) throws -> [(key: [UInt8], entry: ViewsEntry?)] {
        var rows: [(key: [UInt8], entry: ViewsEntry?)] = []
        let cursor = try transaction.cursor(tables.meta)
        var entry = try cursor.seek(MetaKey.catalogue(""))
        while let found = entry, found.key.starts(with: MetaKey.catalogue("")) {
            let value = SealedValue.open(found.value, key: found.key)
            rows.append((Array(found.key), value.flatMap(EventLog.entry)))
            entry = try cursor.next()
        }
        return rows
    }

    /// Returns the numbers of all files assigned to projections, across all programs and versions.
    package func viewsNumbers() throws(LogError) -> Set<UInt64> {
        try read { transaction in
            Set(try EventLog.viewsRows(transaction, self.tables).compactMap(\.entry?.number))
        }
    }

    /// Returns an unused number for a new views file; numbers are never reused.
    package func newViewsNumber() throws(LogError) -> UInt64 {
        try LogError.wrapping {
            try environment.write { transaction in
                let held = try self.undamaged {
                    try transaction.meta(self.tables, MetaKey.viewsNumber)
                }
                // If the row is lost, the last number is taken from the names of the existing
                // files.
                var last =
                    try self.directory.viewsNumbers().filter { $0 <= StoredNumber.max }.max() ?? 0
                if let held {
                    var reader = ByteReader(held)
                    last = max(last, reader.number() ?? 0)
                }
                var row: [UInt8] = []
                row.appendLittleEndian(last + 1)
                try transaction.setMeta(self.tables, MetaKey.viewsNumber, row)
                return last + 1
            }
        }
    }

    /// Assigns a file to projections.
    package func setViews(_ entry: ViewsEntry, for fingerprints: [Digest16]) throws(LogError) {
        var row: [UInt8] = []
        row.appendLittleEndian(entry.number)
        row.appendPrefixed(entry.boot)
        try LogError.wrapping {
            try environment.write { transaction in
                for row in try EventLog.viewsRows(transaction, self.tables) where row.entry == nil {
                    try transaction.delete(self.tables.meta, row.key)
                }
                for fingerprint in fingerprints {
                    try transaction.setMeta(self.tables, EventLog.key(fingerprint), row)
                }
            }
        }
    }

    /// Removes the file assignments of projections, which are then rebuilt.
    package func removeViews(for fingerprints: [Digest16]) throws(LogError) {
        try LogError.wrapping {
            try environment.write { transaction in
                for fingerprint in fingerprints {
                    try transaction.delete(self.tables.meta, EventLog.key(fingerprint))
                }
            }
        }
    }

    /// Removes the assignments of all projections to the given files.
    package func removeViews(ofFiles numbers: Set<UInt64>) throws(LogError) {
        try LogError.wrapping {
            try environment.write { transaction in
                for row in try EventLog.viewsRows(transaction, self.tables) {
                    guard let number = row.entry?.number, numbers.contains(number) else { continue }
                    try transaction.delete(self.tables.meta, row.key)
                }
            }
        }
    }
}
