public import TapedeckModel

/// What a remote's response holds: events to append, and what could not be read.
public struct IngestResult: Sendable {
    /// The sightings, in the order of the document; equal ones once.
    public private(set) var proposals: [ProposedEvent] = []
    /// What was refused, in the order of the document.
    public private(set) var refused: [IngestRefusal] = []

    private var facts: Set<ObservedFact> = []

    /// How many facts the document holds: those proposed and those refused.
    public var read: Int { proposals.count + refused.count }

    init() {}

    /// Adds a sighting unless an equal one is there.
    mutating func add(_ proposal: ProposedEvent) {
        if let fact = proposal.fact, !facts.insert(fact).inserted { return }
        proposals.append(proposal)
    }

    mutating func refuse(_ refusal: IngestRefusal) { refused.append(refusal) }
}

/// A part of a response that was refused; the others are kept.
public struct IngestRefusal: Error, Hashable, Sendable {
    /// Where it stands, as a JSON path such as `$[3].show.name`.
    public let path: String
    /// What is wrong, for programs.
    public let code: ErrorCode
    /// What is wrong, as a sentence.
    public let message: String

    init(_ path: String, _ code: ErrorCode, _ message: String) {
        self.path = path
        self.code = code
        self.message = message
    }

    init(_ path: String, _ error: ModelError) {
        self.init(path, error.code, error.message)
    }
}
