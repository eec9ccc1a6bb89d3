internal import Foundation
internal import Synchronization
public import Tapedeck

/// A store in its own temporary directory, which is removed when this object is deinitialized.
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
/// Initially only the directory is created. When this object is deinitialized, it closes all stores
/// and logs that were opened with it and are still open.
public final class TemporaryStore: Sendable {
    /// The store's directory.
    public let directory: String
    /// The clock of all stores and logs opened with this object.
    public let clock: ManualClock
    private let closers = Mutex<[@Sendable () -> Void]>([])

    /// The parent directory of all temporary stores in this process.
    ///
    /// The directory is removed only when the process exits, because a task that is never cancelled
    /// may keep a store open.
    private static let base: String = {
        let name = "tapedeck-stores-\(ProcessInfo.processInfo.processIdentifier)"
        atexit { try? FileManager.default.removeItem(atPath: TemporaryStore.base) }
        return FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    }()

    /// Creates an empty directory with a unique name.
    ///
    /// - Parameters:
    ///   - name: A prefix for the directory's name, so that the directory is easy to recognize.
    ///   - clock: A clock shared with other stores, or nil to create one.
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

    /// Options that use `clock`.
    public var options: EventLog.Options { EventLog.Options(now: clock.now) }

    /// Opens the store, or creates it if it does not exist.
    ///
    /// Throws the same errors as `TapedeckStore.open`, such as `.busy` if the store is still open.
    public func open(
        projections: [any Projection] = VideoProjections.standard.all
    ) throws -> TapedeckStore {
        let store = try TapedeckStore.open(
            directory, projections: EmptyFolds.replacing(projections), options: options)
        closers.withLock { $0.append { store.close() } }
        return store
    }

    /// Opens only the log, or creates it if it does not exist.
    ///
    /// Throws the same errors as `EventLog`, such as `.busy` if the log is still open.
    public func openLog() throws -> EventLog {
        let exists = FileManager.default.fileExists(atPath: path("store.json"))
        let log =
            exists
            ? try EventLog(opening: directory, options: options)
            : try EventLog.create(directory, options: options)
        closers.withLock { $0.append { log.close() } }
        return log
    }

    /// Returns a path inside the directory, for files next to the store's own.
    public func path(_ name: String) -> String { directory + "/" + name }
}
