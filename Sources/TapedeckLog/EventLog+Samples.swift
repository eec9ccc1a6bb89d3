internal import Synchronization
internal import TapedeckLMDB
@_spi(Core) package import TapedeckModel

/// # Sample events
///
/// `storectl init --demo` records sample events. Each of them has a tag, so every backup, copy and
/// export of the store is marked, too. Sample events must not reach other devices or remote
/// systems: a store that contains them is not synced, and other stores do not import them.
extension EventLog {
    /// The tag of all sample events.
    package static let sampleTag = Tag(unchecked: "demo/sample")

    /// Returns whether the log contains sample events.
    ///
    /// The cost is a lookup in the index, and reading the events that are not in it. If there are no
    /// sample events, the next call reads only newer events. For this single tag, `TailIndex` would
    /// cost more time and memory.
    @available(*, noasync)
    package func containsSamples() throws(LogError) -> Bool {
        settleBuffered()
        return try readRefreshed { transaction in
            let start = self.sampleFree.withLock(\.self)
            func isSample(_ record: RecordView) -> Bool {
                !record.isStub && record.hasTag(EventLog.sampleTag)
            }
            let indexed = try self.forEachIndexedPosition(
                of: Term(tag: EventLog.sampleTag), transaction, after: start
            ) { position in
                try !isSample(self.indexedRecord(at: position, transaction))
            }
            guard let indexed else { return true }
            var isFree = true
            let last = try self.walk(
                transaction, after: max(start, indexed), through: .max - 1
            ) { record in
                isFree = !isSample(record)
                return isFree
            }
            // If the value has changed, the history may have been forgotten.
            if isFree { self.sampleFree.withLock { if $0 == start { $0 = last } } }
            return !isFree
        }
    }

    /// Throws `LogError` with `.usage` if the log contains sample events, so the store cannot be
    /// synced.
    @available(*, noasync)
    package func checkHasNoSamples() throws(LogError) {
        guard try !containsSamples() else {
            throw LogError(
                .usage, "this store contains sample events, so it cannot be synced",
                hint: "use a store that was created without --demo and into which no export of a"
                    + " demo store was imported")
        }
    }
}
