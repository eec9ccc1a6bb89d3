package import TapedeckModel

/// # Sample events
///
/// `storectl init --demo` records sample events. Each of them has a tag, so every backup, copy and
/// export of the store is marked, too. Sample events must not reach other devices or remote
/// systems: a store that contains them is not synced, and other stores do not import them.
extension EventLog {
    /// The tag of all sample events.
    package static let sampleTag = Tag(unchecked: "demo/sample")

    /// Returns whether the log contains sample events, which costs a lookup in the index.
    @available(*, noasync)
    package func containsSamples() throws(LogError) -> Bool {
        try !events(after: .start, limit: 1, tag: EventLog.sampleTag).isEmpty
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
