public import TapedeckModel
public import TapedeckProjections

/// The extracted addresses of video streams, and failed extractions.
///
/// The newest address of a video is kept, and so is the newest failure if it came after that
/// address. The order of arrival therefore does not affect the state. Whether an address is still
/// valid, and whether the next attempt is due, depend on the time of the query.
public struct ExtractionCache: Projection {
    /// Creates the projection.
    public init() {}

    /// `extractions`.
    public var name: String { "extractions" }
    /// 1.
    public var version: Int { 1 }
    /// `video`.
    public var tagKind: String { "video" }
    /// Extracted addresses and failed extractions.
    public var eventTypes: [EventType] { [VideoExtracted.eventType, ExtractionFailed.eventType] }
    /// Events can be folded in any order, because only the newest address and the newest failure
    /// are used.
    public var law: FoldLaw { .any }
    /// A short explanation of how events determine the state.
    public var ruleText: String? {
        """
        The newest address is kept, and so is the newest failure if it came after that address.
        """
    }
    /// One table: the videos whose last extraction failed, by the time of the next attempt.
    public var tables: [String] { ["failed"] }

    /// The known facts about a video.
    public struct State: ProjectionState, Equatable {
        var address: Address?
        /// The last failure, if it came after the address.
        var failure: FailedAttempt?

        /// Creates the initial state.
        public init() {}

        /// Decodes a state.
        public init(decoding bytes: inout StateReader) throws { try self.init(reading: &bytes) }

        init(reading bytes: inout StateReader) throws(ModelError) {
            address = try bytes.optional { (reader) throws(ModelError) in
                try Address(reading: &reader)
            }
            failure = try bytes.optional { (reader) throws(ModelError) in
                try FailedAttempt(reading: &reader)
            }
        }

        /// Encodes the state.
        public func encode(into bytes: inout StateWriter) {
            bytes.add(address) { $1.encode(into: &$0) }
            bytes.add(failure) { $1.encode(into: &$0) }
        }
    }

    /// An extracted address of a video stream.
    struct Address: Equatable {
        var order: FoldOrder
        var url: [UInt8]
        /// The time at which the address was extracted, in Unix milliseconds.
        var extractedAt: Int64
        /// The time at which the address expires, in Unix milliseconds; nil if unknown.
        var expiresAt: Int64?

        init(_ event: borrowing FoldEvent) throws(ModelError) {
            var url: WireField?
            let stamp = Int64(event.stamp.milliseconds)
            // An extraction time later than the event's stamp is replaced by the stamp, so a device
            // whose clock is ahead cannot make an address last longer.
            (order, extractedAt) = (event.order, stamp)
            var fields = WireFields(event.payload)
            while let field = fields.next() {
                // The field numbers are defined in schema/tapedeck/video/v1/videos.proto.
                switch field.number {
                case 2: url = field
                case 3:
                    let told = fields.milliseconds(field).clamped(to: Timestamps.recorded)
                    if told > 0 { extractedAt = min(stamp, told) }
                case 4:
                    let told = fields.milliseconds(field).clamped(to: Timestamps.recorded)
                    if told > 0 { expiresAt = told }
                default: break
                }
            }
            guard let url, !fields.isMalformed else {
                throw ModelError(.invalidPayload, "a payload is not a VideoExtracted")
            }
            self.url = event.payload.bytes(url)
        }

        init(reading bytes: inout StateReader) throws(ModelError) {
            order = try bytes.foldOrder()
            url = try bytes.bytes()
            extractedAt = try bytes.int64()
            expiresAt = try bytes.optionalInt64()
        }

        func encode(into bytes: inout StateWriter) {
            bytes.add(order)
            bytes.add(url)
            bytes.add(extractedAt)
            bytes.add(expiresAt)
        }

        /// Returns the time until which the address is valid, in Unix milliseconds.
        func goodUntil(windowSeconds: Double) -> Int64 {
            expiresAt ?? extractedAt + Int64(windowSeconds * 1_000)
        }
    }

    /// Folds an address or a failure.
    public func fold(_ event: borrowing FoldEvent, into key: inout KeyedState<State>) throws {
        if event.typeIndex == 0 {
            let address = try Address(event)
            guard key.state.address.map({ $0.order < address.order }) ?? true else { return }
            key.state.address = address
            if let failure = key.state.failure, failure.order < address.order {
                key.state.failure = nil
            }
            return
        }
        let isNew =
            key.state.address.map { $0.order < event.order } ?? true
            && key.state.failure.map { $0.order < event.order } ?? true
        guard isNew else { return }
        let failed = try event.decode(ExtractionFailed.self).normalized()
        key.state.failure = FailedAttempt(
            event, reason: failed.reason, attempt: failed.attempt,
            retryAfterSeconds: failed.hasRetryAfterSeconds ? failed.retryAfterSeconds : nil)
    }

    /// Adds a row for a video whose last extraction failed.
    public func rows(of state: State, key: Tag, into rows: inout RowSink) {
        guard let failure = state.failure else { return }
        var value = StateWriter()
        state.encode(into: &value)
        rows.add(
            table: 0, key: RowKey().ascending(failure.nextTryAt ?? .max).text(key.name),
            value: value.bytes)
    }
}
