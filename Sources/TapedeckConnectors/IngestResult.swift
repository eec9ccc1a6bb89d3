public import TapedeckModel
internal import TapedeckSync

/// The contents of a remote's response: events to append, and refusals.
public struct IngestResult: Sendable {
    /// The observations in document order, without duplicates.
    public private(set) var proposals: [ProposedEvent] = []
    /// The refused parts, in document order.
    public private(set) var refused: [IngestRefusal] = []

    private var facts: Set<ObservedFact> = []

    /// The number of facts in the document, both proposed and refused.
    public var read: Int { proposals.count + refused.count }

    init() {}

    /// Adds an observation unless it is a duplicate.
    mutating func add(_ proposal: ProposedEvent) {
        if let fact = proposal.fact, !facts.insert(fact).inserted { return }
        proposals.append(proposal)
    }

    mutating func refuse(_ refusal: IngestRefusal) { refused.append(refusal) }
}

/// A part of a response that was refused; the other parts are kept.
public struct IngestRefusal: Error, Hashable, Sendable {
    /// The location of the part, as a JSON path such as `$[3].show.name`.
    public let path: String
    /// The error code.
    public let code: ErrorCode
    /// The error message, a sentence.
    public var message: String { text.description }
    let text: FailureText

    init(_ path: String, _ code: ErrorCode, _ text: FailureText) {
        self.path = path
        self.code = code
        self.text = text
    }

    init(_ path: String, _ error: ModelError) {
        self.init(path, error.code, "\(error.message)")
    }

    /// The path and the message; the path consists of names that the program knows.
    var line: FailureText { "\(own: path): \(text)" }
}
