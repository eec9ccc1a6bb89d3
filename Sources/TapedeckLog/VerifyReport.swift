/// What a check of a whole store found.
public struct VerifyReport: Codable, Hashable, Sendable {
    /// One thing that is not as it was written.
    public struct Problem: Codable, Hashable, Sendable {
        /// What the problem is of.
        public enum Kind: String, Codable, Sendable, CaseIterable {
            /// A page of the file.
            case page
            /// A hole in the positions.
            case position
            /// The bytes of an event.
            case record
            /// The order of an origin's events.
            case sequence
            /// The hash chain of an origin.
            case chain
            /// What the log keeps of an origin.
            case origin
            /// Finding an event by its identity.
            case identity
            /// Finding events by type, tag or remote entity.
            case index
            /// What a server said of an event.
            case receipt
            /// The stamp that counts instead of an event's own.
            case override
            /// The log's own tables, as far as they are no event's.
            case meta
        }

        /// What it is of.
        public var kind: Kind
        /// The position in the log, or the number of the page.
        public var position: UInt64?
        /// The event, origin, tag or type concerned.
        public var key: String?
        /// What is wrong.
        public var what: String
    }

    /// The most problems of one kind that are listed, so that one kind does not hide another.
    public static let problemsOfAKindMax = 25

    /// Pages in use.
    public var pages: UInt64 = 0
    /// Events read.
    public var events: UInt64 = 0
    /// Events that were compacted.
    public var compacted: UInt64 = 0
    /// Origins that wrote them.
    public var origins: UInt64 = 0
    /// Events looked up by their identity.
    public var lookups: UInt64 = 0
    /// Events that the index tables hold.
    public var indexed: UInt64 = 0
    /// Entries of the index: pairs of a term and an event.
    public var entries: UInt64 = 0
    /// Receipts.
    public var receipts: UInt64 = 0
    /// Events whose effective stamp is not their own, or which are refused.
    public var overrides: UInt64 = 0
    /// The first problems of each kind, up to `problemsOfAKindMax`.
    public var problems: [Problem] = []
    /// How many problems there are.
    public var problemCount: UInt64 = 0

    /// Whether nothing is wrong.
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
