internal import Foundation
internal import Synchronization
public import Tapedeck

/// A store in a directory of its own, which goes away with this object.
///
/// ```swift
/// let place = try TemporaryStore()
/// let store = try place.open()
/// try await store.append([event])
/// place.clock.advance(by: .seconds(60))
/// store.close()
/// let again = try place.open()
/// ```
///
/// Nothing is made on disk but the directory until something is opened. What was opened here is closed
/// with this object, if nobody has closed it before.
public final class TemporaryStore: Sendable {
    /// The store's directory.
    public let directory: String
    /// The time of day of everything that is opened here.
    public let clock: ManualClock
    private let closers = Mutex<[@Sendable () -> Void]>([])

    /// Makes an empty directory with a name that nothing else has.
    ///
    /// - Parameters:
    ///   - name: how the directory's name begins, to be told from others.
    ///   - clock: one that is shared with other stores; nil for one of its own.
    public init(_ name: String = "store", clock: ManualClock? = nil) throws {
        let place = FileManager.default.temporaryDirectory
            .appendingPathComponent("tapedeck-\(name)-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        directory = place.path
        self.clock = clock ?? ManualClock()
    }

    deinit {
        for close in closers.withLock({ $0 }) { close() }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Options whose clock is `clock`.
    public var options: EventLog.Options { EventLog.Options(now: clock.now) }

    /// Opens the store, which is made where there is none.
    ///
    /// Throws what `TapedeckStore.open` throws; `.busy` where it is still open.
    public func open(
        projections: [any Projection] = VideoProjections.standard.all
    ) throws -> TapedeckStore {
        let store = try TapedeckStore.open(
            directory, projections: EmptyFolds.replacing(projections), options: options)
        closers.withLock { $0.append { store.close() } }
        return store
    }

    /// Opens the log alone, which is made where there is none.
    ///
    /// Throws what `EventLog` throws; `.busy` where it is still open.
    public func openLog() throws -> EventLog {
        let exists = FileManager.default.fileExists(atPath: path("store.json"))
        let log =
            exists
            ? try EventLog(opening: directory, options: options)
            : try EventLog.create(directory, options: options)
        closers.withLock { $0.append { log.close() } }
        return log
    }

    /// A path inside the directory, for files beside the store's own.
    public func path(_ name: String) -> String { directory + "/" + name }
}
