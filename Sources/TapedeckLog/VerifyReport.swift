/// The result of checking an entire store.
public struct VerifyReport: Codable, Hashable, Sendable {
    /// A problem found by the check.
    public struct Problem: Codable, Hashable, Sendable {
        /// The kind of the affected data.
        public enum Kind: String, Codable, Sendable, CaseIterable {
            /// A page of the file.
            case page
            /// A gap in the positions.
            case position
            /// The bytes of an event.
            case record
            /// The order of an origin's events.
            case sequence
            /// The hash chain of an origin.
            case chain
            /// The metadata of an origin.
            case origin
            /// The lookup of an event by its id.
            case identity
            /// The lookup of events by type, tag or remote entity.
            case index
            /// A server's receipt for an event.
            case receipt
            /// The effective stamp of an event, if it differs from the event's original stamp.
            case override
            /// The log's own metadata.
            case meta
        }

        /// The kind of the affected data.
        public var kind: Kind
        /// The position in the log, or the number of the page.
        public var position: UInt64?
        /// The affected event, origin, tag or type.
        public var key: String?
        /// A description of the problem.
        public var what: String
    }

    /// The maximum number of problems listed per kind, so that one kind does not hide another.
    public static let problemsOfAKindMax = 25

    /// The number of pages in use.
    public var pages: UInt64 = 0
    /// The number of events read.
    public var events: UInt64 = 0
    /// The number of compacted events.
    public var compacted: UInt64 = 0
    /// The number of origins that have events.
    public var origins: UInt64 = 0
    /// The number of events looked up by id.
    public var lookups: UInt64 = 0
    /// The position up to which the index tables contain the events.
    public var indexed: UInt64 = 0
    /// The number of index entries, which are pairs of a term and an event.
    public var entries: UInt64 = 0
    /// The number of receipts.
    public var receipts: UInt64 = 0
    /// The number of events that are refused or whose effective stamp differs from the original
    /// stamp.
    public var overrides: UInt64 = 0
    /// The first problems of each kind, up to `problemsOfAKindMax`.
    public var problems: [Problem] = []
    /// The total number of problems.
    public var problemCount: UInt64 = 0

    /// Whether the check found no problems.
    public var isIntact: Bool { problemCount == 0 }

    mutating func add(
        _ kind: Problem.Kind, position: UInt64? = nil, key: String? = nil, _ what: String
    ) {
        problemCount += 1
        guard problems.count(where: { $0.kind == kind }) < VerifyReport.problemsOfAKindMax else {
            return
        }
        problems.append(Problem(kind: kind, position: position, key: key, what: what))
    }
}
