internal import Foundation
internal import Synchronization
internal import TapedeckModel

/// # The journal of a simulator's requests
///
/// A simulator's state is determined by its initial parameters and by its requests with their
/// times. The journal therefore contains only one line of JSON for the parameters and one line for
/// each request. A new simulator with the same journal replays the requests and reaches the state
/// of the earlier simulator.
///
/// 1. A request is written to the journal before it is handled. If the write fails, the request is
///    not handled.
/// 2. If the last line is incomplete, the process died while writing it. The request was not
///    handled, so the line is removed.
/// 3. Only one process at a time can open a journal.
///
/// Writes are not synced to disk, so they survive the end of the process but not a power failure.
package final class SimulatorJournal: Sendable {
    /// The initial parameters of a simulator.
    package struct Beginning: Codable, Hashable, Sendable {
        /// The name of the system, as used in commands.
        package var system: String
        /// The seed of the simulator's world and random source.
        package var seed: UInt64
        /// Whether the simulator injects faults.
        package var isAdverse: Bool
        /// The start time, in milliseconds since 1970.
        package var time: Int64
        /// The number of entries on the sample account's dashboard; nil for the default.
        package var rows: Int?

        /// Creates initial parameters.
        package init(
            system: String, seed: UInt64, isAdverse: Bool, time: Int64, rows: Int? = nil
        ) {
            self.system = system
            self.seed = seed
            self.isAdverse = isAdverse
            self.time = time
            self.rows = rows
        }
    }

    /// A request and its time.
    struct Entry: Codable, Hashable {
        var time: Int64
        var method: String
        var path: String
        var query: [[String]]
        var headers: [[String]]
        /// The body, in Base64.
        var body: Data

        init(_ request: SimulatedRequest, at time: Int64) {
            self.time = time
            method = request.method
            path = request.path
            query = request.query.map { [$0.name, $0.value] }
            headers = request.headers.map { [$0.name, $0.value] }
            body = Data(request.body)
        }

        var request: SimulatedRequest {
            func fields(_ pairs: [[String]]) -> [SimulatedField] {
                pairs.compactMap { $0.count == 2 ? SimulatedField($0[0], $0[1]) : nil }
            }
            return SimulatedRequest(
                method, path, query: fields(query), headers: fields(headers), body: Array(body))
        }
    }

    /// The initial parameters, from the file if it exists, or from the caller for a new file.
    package let beginning: Beginning
    private let file: Int32
    private let past: Mutex<[Entry]>

    /// Opens a journal, or creates it if it does not exist.
    ///
    /// Throws `SimulatorServerError`: `.busy`, `.damaged`, `.accessDenied`, `.inputOutput`.
    package init(_ path: String, beginning given: Beginning) throws(SimulatorServerError) {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SimulatorJournal.failure(.accessDenied, "open", path) }
        do throws(SimulatorServerError) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw SimulatorServerError(.busy, "another simulator has the journal \(path) open")
            }
            let (beginning, entries) = try SimulatorJournal.read(file, path)
            if beginning == nil, !SimulatorJournal.append(given, to: file) {
                throw SimulatorJournal.failure(.inputOutput, "write", path)
            }
            self.beginning = beginning ?? given
            past = Mutex(entries)
        } catch {
            close(file)
            throw error
        }
        self.file = file
    }

    deinit { close(file) }

    private static func failure(
        _ code: ErrorCode, _ what: String, _ path: String
    ) -> SimulatorServerError {
        SimulatorServerError(
            code, "cannot \(what) the journal \(path): \(String(cString: strerror(errno)))")
    }

    // MARK: - Reading

    /// On the first call, returns the entries of earlier runs, oldest first; later calls return no
    /// entries.
    func takePast() -> [Entry] {
        past.withLock { past in
            defer { past = [] }
            return past
        }
    }

    /// Reads a file and truncates it after the last complete line.
    private static func read(
        _ file: Int32, _ path: String
    ) throws(SimulatorServerError) -> (beginning: Beginning?, entries: [Entry]) {
        let data: Data
        do {
            data = try FileHandle(fileDescriptor: file, closeOnDealloc: false).readToEnd() ?? Data()
        } catch {
            throw SimulatorServerError(
                .inputOutput, "cannot read the journal \(path)", cause: error)
        }
        let end = data.lastIndex(of: lineEnd).map { $0 + 1 } ?? 0
        let lines = data.prefix(end).split(separator: lineEnd)
        let (beginning, entries): (Beginning?, [Entry])
        do {
            let decoder = JSONDecoder()
            // If the file is not a journal, decoding fails here, before the file is truncated.
            let first = data.isEmpty ? nil : lines.first ?? data
            beginning = try first.map { try decoder.decode(Beginning.self, from: $0) }
            entries = try lines.dropFirst().map { try decoder.decode(Entry.self, from: $0) }
        } catch {
            throw SimulatorServerError(
                .damaged, "\(path) is not a simulator journal",
                hint: "name a file that does not exist yet", cause: error)
        }
        guard ftruncate(file, off_t(end)) == 0, lseek(file, off_t(end), SEEK_SET) >= 0 else {
            throw failure(.inputOutput, "write", path)
        }
        return (beginning, entries)
    }

    private static let lineEnd = UInt8(ascii: "\n")

    // MARK: - Writing

    /// Appends a request; if the write fails, leaves the file unchanged and returns false.
    ///
    /// The caller serializes the calls.
    func append(_ request: SimulatedRequest, at time: Int64) -> Bool {
        SimulatorJournal.append(Entry(request, at: time), to: file)
    }

    private static func append(_ row: some Encodable, to file: Int32) -> Bool {
        guard var line = try? JSONEncoder().encode(row) else { return false }
        line.append(lineEnd)
        let start = lseek(file, 0, SEEK_CUR)
        var done = 0
        while done < line.count {
            let count = line.dropFirst(done).withUnsafeBytes {
                write(file, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                _ = ftruncate(file, start)
                _ = lseek(file, start, SEEK_SET)
                return false
            }
            done += count
        }
        return true
    }
}
