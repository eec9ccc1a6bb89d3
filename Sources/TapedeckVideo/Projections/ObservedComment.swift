internal import TapedeckModel
internal import TapedeckProjections

/// The state of a key that also stores comments, both those posted here and those shown by remotes.
///
/// The comments are items and share the key with other items:
///
/// | name | value |
/// |---|---|
/// | `l` stamp event-id | a comment posted here that no remote has shown yet: `PostedComment` |
/// | `o` time comment-id | a comment that a remote shows: `ObservedComment` |
/// | `y` comment-id | the same for a comment that the remote no longer shows |
/// | `n` comment-id | the time of the comment, as in the name of its `o` item |
/// | `q` event-id | the time at which a comment shown by a remote was posted here; empty if unknown |
/// | `r` event-id | the last outcome of an intent, such as a comment: see `OutcomeItems` |
/// | `z` event-id | empty; the item exists if the user dropped the intent |
///
/// A comment that was posted here and is shown by a remote is counted once and stored only in `o`.
/// If the remote no longer shows the comment, the comment is no longer counted. In canonical order,
/// observations precede activity. If an observation of a comment that was posted here arrives when
/// posted comments have already been folded, the fold requests a refold. Only a refusal and its end
/// need to find a comment by its event; they look at all comments in `l`.
protocol CommentedState: ProjectionState {
    /// The number of comments posted here that no remote has shown.
    var posted: UInt64 { get set }
    /// The number of comments that remotes show.
    var observed: UInt64 { get set }
    /// The number of comments that remotes have shown but no longer show.
    var removed: UInt64 { get set }
    /// The number of comments posted here that a remote has shown.
    var echoed: UInt64 { get set }
    /// The number of intents that have an outcome.
    var outcomes: UInt64 { get set }
}

extension KeyedState where State: CommentedState {
    /// Folds a `CommentPosted`.
    mutating func foldPosted(_ event: borrowing FoldEvent) throws(ModelError) {
        let name = PostedComment.itemName(event)
        if state.observed + state.removed > 0 {
            let echo = CommentItems.echo(of: event.id.textBytes)
            if let held = item(echo) {
                guard held.isEmpty else { return }
                let time = BroadcastPlace(time: Int64(event.stamp.milliseconds), id: [])
                setItem(echo, time.encodedTime)
                state.echoed += 1
                return
            }
        }
        guard item(name) == nil else { return }
        var comment = try PostedComment(event.payload)
        if state.outcomes > 0 {
            let intent = event.id.textBytes
            guard item(CommentItems.dropped(intent)) == nil else { return }
            comment.refusal = try outcome(of: intent)?.refusal
        }
        setItem(name, comment.encoded)
        state.posted += 1
    }

    /// Folds the outcome of any intent under the key.
    ///
    /// A comment that the user dropped is removed, even if other devices record other outcomes
    /// later. Returns the intent, its outcome, and whether no newer outcome has been folded.
    mutating func foldOutcome(
        _ event: borrowing FoldEvent
    ) throws(ModelError) -> (intent: [UInt8], outcome: IntentOutcome, isLatest: Bool)? {
        let told = try IntentOutcome.read(event.payload, order: event.order, of: nil)
        guard let (intent, outcome) = told else { return nil }
        let held = try self.outcome(of: intent)
        if held == nil { state.outcomes += 1 }
        let isLatest = held.map { $0.order < outcome.order } ?? true
        if isLatest { setItem(OutcomeItems.name(intent), outcome.encoded) }
        if outcome.kind == .dropped {
            setItem(CommentItems.dropped(intent), [])
            if let (name, _) = try posted(as: intent) {
                removeItem(name)
                state.posted -= 1
            }
        } else if isLatest, held?.refusal != outcome.refusal,
            let posted = try posted(as: intent)
        {
            var comment = posted.comment
            comment.refusal = outcome.refusal
            setItem(posted.name, comment.encoded)
        }
        return (intent, outcome, isLatest)
    }

    /// Returns the comment that an event has posted; nil if a remote shows it, or if there is none.
    private func posted(
        as event: [UInt8]
    ) throws(ModelError) -> (name: RowKey, comment: PostedComment)? {
        guard state.posted > 0 else { return nil }
        let list = RowKey(BroadcastItems.posted)
        var next = firstItem(prefix: list)
        while let (name, value) = next {
            if PostedComment.id(name.dropFirst(9)) == event {
                return (RowKey(name), try PostedComment(decoding: value))
            }
            next = nextItem(after: name, prefix: list)
        }
        return nil
    }

    /// Folds a `CommentObserved`; returns the number at the end of the comment's id, or 0 if there
    /// is none.
    @discardableResult
    mutating func foldObserved(_ event: borrowing FoldEvent) throws(ModelError) -> UInt64 {
        let observation = try ObservedComment(event.payload, order: event.order)
        let pointer = CommentItems.pointer(observation.id)
        var record = observation
        if let held = item(pointer) {
            let shown = CommentItems.name(try BroadcastPlace.time(held), observation.id)
            guard let bytes = item(shown) ?? item(CommentItems.removed(observation.id)) else {
                throw ModelError(.damaged, "a comment's item is missing")
            }
            record = try ObservedComment(decoding: bytes)
            let (before, wasRemoved) = (CommentItems.name(record), record.isRemoved)
            record.merge(observation)
            if CommentItems.name(record).bytes != before.bytes { removeItem(before) }
            if wasRemoved { state.removed -= 1 } else { state.observed -= 1 }
        }
        if record.isRemoved { state.removed += 1 } else { state.observed += 1 }
        setItem(pointer, BroadcastPlace(time: record.time, id: []).encodedTime)
        setItem(CommentItems.name(record), record.encoded)
        if let event = observation.postedAs?.value {
            let echo = CommentItems.echo(of: event)
            if item(echo) == nil {
                if state.posted + state.echoed + state.outcomes > 0 { requestRefold() }
                setItem(echo, [])
            }
        }
        return NaturalID.number(observation.id)
    }
}

/// The names of items; see `CommentedState`.
enum CommentItems {
    static let observed: [UInt8] = [UInt8(ascii: "o")]
    /// The name prefixes of the items that are posts or comments; the items with the same prefix
    /// are sorted by time.
    static let lists = [BroadcastItems.byTime, BroadcastItems.posted, observed]
    private static let pointer: [UInt8] = [UInt8(ascii: "n")]
    private static let echo: [UInt8] = [UInt8(ascii: "q")]

    static func pointer(_ id: [UInt8]) -> RowKey { RowKey(pointer + id) }
    static func removed(_ id: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "y")] + id) }

    /// Returns the name of a comment's item.
    static func name(_ comment: ObservedComment) -> RowKey {
        comment.isRemoved ? removed(comment.id) : name(comment.time, comment.id)
    }

    static func echo(of event: [UInt8]) -> RowKey { RowKey(echo + event) }

    static func dropped(_ intent: [UInt8]) -> RowKey { RowKey([UInt8(ascii: "z")] + intent) }

    /// Returns a name that sorts by time, then by number.
    ///
    /// Remotes that report no times assign ascending numbers.
    static func name(_ time: Int64, _ id: [UInt8]) -> RowKey {
        BroadcastItems.name(observed, BroadcastPlace(time: time, id: NaturalID.ordered(id)))
    }
}

/// Sorts ids that end in a number by that number.
enum NaturalID {
    /// Returns bytes that sort like the ids: `whale:7` before `whale:12`.
    static func ordered(_ id: [UInt8]) -> [UInt8] {
        let digits = digits(id)
        // The inserted byte is at least 127, so it is not a digit, and `id` finds it directly
        // before the trailing digits.
        return id.dropLast(digits.count) + [UInt8(clamping: 127 + digits.count)] + digits
    }

    /// Returns the id that `ordered` converted to these bytes.
    static func id(_ ordered: [UInt8]) -> [UInt8] {
        let place = ordered.count - 1 - digits(ordered).count
        guard place >= 0 else { return ordered }
        var id = ordered
        id.remove(at: place)
        return id
    }

    /// Returns the number at the end of an id; 0 if there is none.
    static func number(_ id: [UInt8]) -> UInt64 {
        digits(id).reduce(UInt64(0)) { number, digit in
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            return overflow ? .max : product &+ UInt64(digit &- 0x30)
        }
    }

    static func number(_ id: some StringProtocol) -> UInt64 { number(Array(id.utf8)) }

    private static func digits(_ id: [UInt8]) -> ArraySlice<UInt8> {
        id.suffix(id.reversed().prefix { (0x30...0x39).contains($0) }.count)
    }
}

/// A comment as remotes show it: each field comes from the newest observation that contains it, and
/// the newest observation decides whether the comment was removed.
struct ObservedComment {
    /// The value of a field, and the order of the observation that it comes from.
    struct Field {
        var order: FoldOrder
        var value: [UInt8]

        fileprivate static func newer(_ left: Field?, _ right: Field?) -> Field? {
            guard let left, let right else { return left ?? right }
            return left.order < right.order ? right : left
        }
    }

    let id: [UInt8]
    /// The order of the newest observation.
    private var order: FoldOrder
    private(set) var isRemoved: Bool
    private(set) var text: Field
    private(set) var author: Field?
    private var createdAt: Field?
    /// The id of the event that posted the comment.
    private(set) var postedAs: Field?
    /// The remote's id of the conversation.
    private(set) var conversation: Field?

    /// Reads a `CommentObserved`.
    init(_ payload: RawSpan, order: FoldOrder) throws(ModelError) {
        var (id, text, author): (WireField?, WireField?, WireField?)
        var (postedAs, conversation): (WireField?, WireField?)
        var time: Int64?
        var isRemoved = false
        var fields = WireFields(payload)
        while let field = fields.next() {
            // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
            switch field.number {
            case 1: id = field
            case 4: text = field
            case 8: conversation = field
            case 9: isRemoved = field.bool == true
            case 5: author = field
            case 6: time = fields.milliseconds(field).clamped(to: Timestamps.recorded)
            case 7: postedAs = field
            default: break
            }
        }
        guard let id, (1...FieldLimits.idBytesMax).contains(id.count), !fields.isMalformed else {
            throw ModelError(.invalidPayload, "a payload is not a CommentObserved")
        }
        func field(_ wire: WireField?) -> Field? {
            wire.map { Field(order: order, value: payload.bytes($0)) }
        }
        self.id = payload.bytes(id)
        (self.order, self.isRemoved) = (order, isRemoved)
        // An observation of a removed comment need not repeat the text.
        self.text = field(text) ?? Field(order: isRemoved ? .start : order, value: [])
        self.author = field(author)
        self.postedAs = field(postedAs)
        self.conversation = field(conversation)
        createdAt = time.map {
            Field(order: order, value: BroadcastPlace(time: $0, id: []).encodedTime)
        }
    }

    mutating func merge(_ other: ObservedComment) {
        if order < other.order { (order, isRemoved) = (other.order, other.isRemoved) }
        text = Field.newer(text, other.text) ?? text
        author = Field.newer(author, other.author)
        createdAt = Field.newer(createdAt, other.createdAt)
        postedAs = Field.newer(postedAs, other.postedAs)
        conversation = Field.newer(conversation, other.conversation)
    }

    /// The time at which the comment was made, in Unix milliseconds; nil if the remote does not
    /// report it.
    var at: Int64? { createdAt.flatMap { try? BroadcastPlace.time($0.value) } }

    /// The time to sort by; 0 if the remote does not report it.
    var time: Int64 { at ?? 0 }

    // MARK: - Bytes

    init(decoding bytes: [UInt8]) throws(ModelError) {
        self = try StateReader.read(bytes) { (reader) throws(ModelError) in
            try ObservedComment(decoding: &reader)
        }
    }

    private init(decoding reader: inout StateReader) throws(ModelError) {
        func field(_ reader: inout StateReader) throws(ModelError) -> Field {
            Field(order: try reader.foldOrder(), value: try reader.bytes())
        }
        id = try reader.bytes()
        order = try reader.foldOrder()
        isRemoved = try reader.bool()
        text = try field(&reader)
        author = try reader.optional(field)
        createdAt = try reader.optional(field)
        postedAs = try reader.optional(field)
        conversation = try reader.optional(field)
    }

    var encoded: [UInt8] {
        func add(_ writer: inout StateWriter, _ field: Field) {
            writer.add(field.order)
            writer.add(field.value)
        }
        var writer = StateWriter()
        writer.add(id)
        writer.add(order)
        writer.add(isRemoved)
        add(&writer, text)
        for field in [author, createdAt, postedAs, conversation] {
            writer.add(field) { add(&$0, $1) }
        }
        return writer.bytes
    }
}
