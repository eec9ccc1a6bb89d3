package import TapedeckModel
internal import TapedeckLMDB

/// Which views file serves which projection; rows of the log's `meta` table, so that a flip from one
/// file to another is one durable row.
package struct ViewsEntry: Hashable, Sendable {
    /// The file: `views-<number>.mdb`.
    package var number: UInt64
    /// The system's boot in which the file was last written without being put on disk; empty when it
    /// is on disk.
    package var boot: String

    package init(number: UInt64, boot: String) {
        self.number = number
        self.boot = boot
    }
}

extension EventLog {
    private static let numberKey: [UInt8] = Array("n".utf8)

    private static func key(_ fingerprint: Digest16) -> [UInt8] {
        MetaKey.catalogue(fingerprint.high.paddedHex + fingerprint.low.paddedHex)
    }

    /// The file that serves a projection, or nil.
    package func viewsEntry(_ fingerprint: Digest16) throws(LogError) -> ViewsEntry? {
        try read { transaction in
            try self.viewsEntry(fingerprint, transaction)
        }
    }

    private func viewsEntry(
        _ fingerprint: Digest16, _ transaction: borrowing some Readable & ~Copyable
    ) throws -> ViewsEntry? {
        guard let bytes = try transaction.meta(tables, EventLog.key(fingerprint)) else {
            return nil
        }
        return EventLog.entry(bytes)
    }

    private static func entry(_ bytes: UnsafeRawBufferPointer) -> ViewsEntry? {
        var reader = ByteReader(bytes)
        guard let number = reader.littleEndian(UInt64.self), let boot = reader.prefixedString()
        else {
            return nil
        }
        return ViewsEntry(number: number, boot: boot)
    }

    /// The files that serve any projection, of whatever version of whatever program.
    package func viewsNumbers() throws(LogError) -> Set<UInt64> {
        try read { transaction in
            var numbers: Set<UInt64> = []
            let cursor = try transaction.cursor(self.tables.meta)
            var entry = try cursor.seek(Array("c".utf8))
            while let found = entry, found.key.first == UInt8(ascii: "c") {
                if let value = SealedValue.open(found.value, key: found.key),
                    let row = EventLog.entry(value)
                {
                    numbers.insert(row.number)
                }
                entry = try cursor.next()
            }
            return numbers
        }
    }

    /// A number for a new views file, never given before.
    package func newViewsNumber() throws(LogError) -> UInt64 {
        try LogError.wrapping {
            try environment.write { transaction in
                var next: UInt64 = 1
                if let bytes = try transaction.meta(self.tables, EventLog.numberKey) {
                    var reader = ByteReader(bytes)
                    next = (reader.littleEndian(UInt64.self) ?? 0) + 1
                }
                var row: [UInt8] = []
                row.appendLittleEndian(next)
                try transaction.setMeta(self.tables, EventLog.numberKey, row)
                return next
            }
        }
    }

    /// Says which file serves projections from now on: the flip.
    package func setViews(_ entry: ViewsEntry, for fingerprints: [Digest16]) throws(LogError) {
        var row: [UInt8] = []
        row.appendLittleEndian(entry.number)
        row.appendPrefixed(entry.boot)
        try LogError.wrapping {
            try environment.write { transaction in
                for fingerprint in fingerprints {
                    try transaction.setMeta(self.tables, EventLog.key(fingerprint), row)
                }
            }
        }
    }

    /// Forgets the file of a projection, which is then made anew.
    package func removeViews(for fingerprints: [Digest16]) throws(LogError) {
        try LogError.wrapping {
            try environment.write { transaction in
                for fingerprint in fingerprints {
                    try transaction.delete(self.tables.meta, EventLog.key(fingerprint))
                }
            }
        }
    }

    /// Forgets files, whatever they serve.
    package func removeViews(ofFiles numbers: Set<UInt64>) throws(LogError) {
        try LogError.wrapping {
            try environment.write { transaction in
                var keys: [[UInt8]] = []
                let cursor = try transaction.cursor(self.tables.meta)
                var entry = try cursor.seek(MetaKey.catalogue(""))
                while let found = entry, found.key.starts(with: MetaKey.catalogue("")) {
                    if let value = SealedValue.open(found.value, key: found.key),
                        let row = EventLog.entry(value), numbers.contains(row.number)
                    {
                        keys.append(Array(found.key))
                    }
                    entry = try cursor.next()
                }
                for key in keys { try transaction.delete(self.tables.meta, key) }
            }
        }
    }
}
