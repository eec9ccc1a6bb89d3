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
/// Nothing but the directory is made until something is opened. What was opened here is closed with this object, if it
/// is still open.
public final class TemporaryStore: Sendable {
    /// The store's directory.
    public let directory: String
    /// The time of day of everything that is opened here.
    public let clock: ManualClock
    private let closers = Mutex<[@Sendable () -> Void]>([])

    /// The directory of all such stores of this process.
    ///
    /// It is removed when the process exits, because a task that
    /// is never cancelled may hold a store until then.
    private static let base: String = {
        let name = "tapedeck-stores-\(ProcessInfo.processInfo.processIdentifier)"
        atexit { try? FileManager.default.removeItem(atPath: TemporaryStore.base) }
        return FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    }()

    /// Makes an empty directory with a name that nothing else has.
    ///
    /// - Parameters:
    ///   - name: how the directory's name begins, to be told from others.
    ///   - clock: one that is shared with other stores; nil for one of its own.
    public init(_ name: String = "store", clock: ManualClock? = nil) throws {
        directory = "\(TemporaryStore.base)/\(name)-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
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
