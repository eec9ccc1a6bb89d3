internal import TapedeckLMDB
internal import TapedeckModel

/// A row that two forms of a projection do not have alike.
public struct RowDifference: Hashable, Sendable {
    /// What the second form does to it.
    public enum Kind: String, Sendable {
        /// The first form does not have it.
        case added
        /// The second form does not have it.
        case removed
        /// The two have other values of it.
        case changed
    }

    /// Which of the projection's tables.
    public var table: Int
    /// The row's key.
    public var key: [UInt8]
    /// What the second form does to it.
    public var kind: Kind
    /// The value in the first form; nil where it has none.
    public var before: [UInt8]?
    /// The value in the second form; nil where it has none.
    public var after: [UInt8]?

    /// The text at the end of the key, which is the name of what the row is about; all of the key, with
    /// unprintable bytes in hexadecimal, where it ends in no text.
    public var name: String {
        let text = key.reversed().drop { $0 == 0 }.prefix { (0x21...0x7E).contains($0) }
        guard text.isEmpty else { return String(decoding: text.reversed(), as: UTF8.self) }
        return key.withUnsafeBytes { ViewsComparison.readable($0, .rows) }
    }
}

extension ProjectionRunner {
    /// Builds two forms of a projection in scratch, such as two versions of it or two choices of its
    /// parameters, and tells of each row that they do not have alike, table by table, by key.
    ///
    /// Both are of the same events; neither has to be one of this store's. Costs a rebuild of both; live
    /// tables stay as they are.
    ///
    /// - Parameter body: told of each row, until it returns false.
    @available(*, noasync)
    public func compare(
        _ first: some Projection, with second: some Projection,
        options: RebuildOptions = RebuildOptions(), _ body: (RowDifference) throws -> Bool
    ) throws -> RebuildReport {
        let (left, right) = (
            ProjectionRunner.driver(first), ProjectionRunner.driver(second)
        )
        let wanted = left.fingerprint == right.fingerprint ? [left] : [left, right]
        log.settleBuffered()
        return try inScratch(wanted, rebuild(wanted, .none, options)) { file, report in
            guard let before = file.tables[left.fingerprint],
                let after = file.tables[right.fingerprint]
            else {
                throw ProjectionError(.internalError, "a scratch file lacks what was built")
            }
            try file.environment.read { views in
                try ViewsComparison.rows(before.rows, after.rows, views, body)
            }
            return RebuildReport(report)
        }
    }
}

extension ViewsComparison {
    /// Walks two tables of rows side by side; stops where `body` says so.
    fileprivate static func rows(
        _ before: Table, _ after: Table, _ views: borrowing ReadTransaction,
        _ body: (RowDifference) throws -> Bool
    ) throws {
        let one = try views.cursor(before)
        let other = try views.cursor(after)
        var a = try one.first()
        var b = try other.first()
        while true {
            let difference: RowDifference?
            switch (a, b) {
            case (nil, nil): return
            case (let x?, let y?) where x.key.elementsEqual(y.key):
                let isEqual = x.value.elementsEqual(y.value)
                difference =
                    isEqual
                    ? .none : RowDifference(x.key, .changed, Array(x.value), Array(y.value))
                a = try one.next()
                b = try other.next()
            case (let x?, let y):
                if let y, !x.key.precedes(y.key) {
                    difference = RowDifference(y.key, .added, nil, Array(y.value))
                    b = try other.next()
                } else {
                    difference = RowDifference(x.key, .removed, Array(x.value), nil)
                    a = try one.next()
                }
            case (nil, let y?):
                difference = RowDifference(y.key, .added, nil, Array(y.value))
                b = try other.next()
            }
            if let difference, try !body(difference) { return }
        }
    }
}

extension RowDifference {
    /// - Parameter key: as in the file: the table's number, then the row's key.
    fileprivate init(
        _ key: UnsafeRawBufferPointer, _ kind: Kind, _ before: [UInt8]?, _ after: [UInt8]?
    ) {
        self.init(
            table: Int(key.first ?? 0), key: Array(key.dropFirst()), kind: kind, before: before,
            after: after)
    }
}
