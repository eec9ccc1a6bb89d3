internal import Foundation
internal import Synchronization
internal import TapedeckModel

/// # What a simulator was asked, in a file
///
/// A simulator follows from how it began, and from its requests with the clock's readings. So the file
/// holds these and nothing else: a line of JSON for the beginning, and one for each request. One that is
/// made again on the same file handles them again, and stands where the one before it was killed.
///
/// 1. A request is in the file before it is handled; one that cannot be written is not handled.
/// 2. A last line without an end was cut off with its process: it was not handled, and is dropped.
/// 3. One process at a time has a file.
///
/// Nobody waits for the disk: what is written outlives the process, and not a loss of power.
package final class SimulatorJournal: Sendable {
    /// What a simulator follows from, but for its requests.
    package struct Beginning: Codable, Hashable, Sendable {
        /// Which system, by the name that commands know.
        package var system: String
        /// From which its world and its dice follow.
        package var seed: UInt64
        /// Whether it makes life hard.
        package var isAdverse: Bool
        /// When it began, in Unix milliseconds.
        package var time: Int64

        /// Makes a beginning.
        package init(system: String, seed: UInt64, isAdverse: Bool, time: Int64) {
            self.system = system
            self.seed = seed
            self.isAdverse = isAdverse
            self.time = time
        }
    }

    /// A request, and what the clock showed when it came.
    struct Entry: Codable, Hashable {
        var time: Int64
        var method: String
        var path: String
        var query: [[String]]
        var headers: [[String]]
        /// In Base64.
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

    /// How the simulator began: what was given, or what the file says.
    package let beginning: Beginning
    private let file: Int32
    private let past: Mutex<[Entry]>

    /// Opens a journal, or begins one where there is none.
    ///
    /// Throws `SimulatorServerError`: `.busy`, `.damaged`, `.accessDenied`, `.inputOutput`.
    package init(_ path: String, beginning given: Beginning) throws(SimulatorServerError) {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SimulatorJournal.failure(.accessDenied, "open", path) }
        do throws(SimulatorServerError) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw SimulatorServerError(.busy, "another simulator has the journal \(path)")
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

    /// The entries of earlier lives, the oldest first; once only.
    func takePast() -> [Entry] {
        past.withLock { past in
            defer { past = [] }
            return past
        }
    }

    /// Reads a file, and cuts it behind its last whole line.
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
            // Of somebody else's file not a byte is cut off.
            let first = data.isEmpty ? nil : lines.first ?? data
            beginning = try first.map { try decoder.decode(Beginning.self, from: $0) }
            entries = try lines.dropFirst().map { try decoder.decode(Entry.self, from: $0) }
        } catch {
            throw SimulatorServerError(
                .damaged, "\(path) is not a simulator's journal",
                hint: "name a file that is not there yet", cause: error)
        }
        guard ftruncate(file, off_t(end)) == 0, lseek(file, off_t(end), SEEK_SET) >= 0 else {
            throw failure(.inputOutput, "write", path)
        }
        return (beginning, entries)
    }

    private static let lineEnd = UInt8(ascii: "\n")

    // MARK: - Writing

    /// Adds a request; false where it could not be written, and then nothing of it stays.
    ///
    /// Whoever calls it sees to it that requests come one at a time.
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
