internal import TapedeckLMDB
internal import TapedeckModel

/// A row that differs between two variants of a projection.
public struct RowDifference: Hashable, Sendable {
    /// The kind of a difference: the change that leads from the first variant to the second.
    public enum Kind: String, Sendable {
        /// Only the second variant has the row.
        case added
        /// Only the first variant has the row.
        case removed
        /// Both variants have the row, with different values.
        case changed
    }

    /// The index of the projection's table.
    public var table: Int
    /// The key of the row.
    public var key: [UInt8]
    /// The kind of the difference.
    public var kind: Kind
    /// The value in the first variant; nil if it lacks the row.
    public var before: [UInt8]?
    /// The value in the second variant; nil if it lacks the row.
    public var after: [UInt8]?

    /// The text at the end of the key, which is usually the name of the row's subject.
    ///
    /// If the key does not end with text, the name is the entire key, with unprintable bytes in
    /// hexadecimal.
    public var name: String {
        let text = key.reversed().drop { $0 == 0 }.prefix { (0x21...0x7E).contains($0) }
        guard text.isEmpty else { return String(decoding: text.reversed(), as: UTF8.self) }
        return key.withUnsafeBytes { ViewsComparison.readable($0, .rows) }
    }
}

extension ProjectionRunner {
    /// Builds two variants of a projection in a scratch file and reports each row that differs, in
    /// table and key order.
    ///
    /// The variants can be two versions of a projection, or the same projection with different
    /// parameters. Both variants are folded from the same events, and neither has to be one of this
    /// runner's projections. The cost is a rebuild of both variants; live tables stay unchanged.
    ///
    /// - Parameter body: Called with each difference; return false to stop.
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
                throw ProjectionError(.internalError, "tables that were just built are missing")
            }
            try file.environment.read { views in
                try ViewsComparison.rows(before.rows, after.rows, views, body)
            }
            return RebuildReport(report)
        }
    }
}

extension ViewsComparison {
    /// Compares two tables of rows side by side until `body` returns false.
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
    /// - Parameter key: The key as stored in the file: the table number, followed by the key of the
    ///   row.
    fileprivate init(
        _ key: UnsafeRawBufferPointer, _ kind: Kind, _ before: [UInt8]?, _ after: [UInt8]?
    ) {
        self.init(
            table: Int(key.first ?? 0), key: Array(key.dropFirst()), kind: kind, before: before,
            after: after)
    }
}
