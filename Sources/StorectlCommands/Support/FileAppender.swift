internal import Dispatch
internal import Foundation
internal import Synchronization
internal import Tapedeck

/// Records the events of a file line by line, with bounded memory.
///
/// Lines are gathered into batches; a batch is read by all cores, as reading JSON is what costs
/// most, and then recorded in one commit.
struct FileAppender {
    /// Lines in a commit.
    static let linesPerCommit = 1_000
    /// Bytes of lines in a commit: large events are committed in smaller numbers.
    static let bytesPerCommitMax = 16 << 20

    private let log: EventLog
    private let byteCount: UInt64?
    private var lines: LineReader
    private var report = AppendReport()
    private var batch: [LineReader.Line] = []
    private var batchBytes = 0
    /// Every line up to here is recorded or refused.
    private var doneLines = 0

    init(log: EventLog, input: FileInput) {
        self.log = log
        byteCount = input.byteCount
        lines = LineReader(input)
    }

    /// Reads to the end.
    ///
    /// What stops it (a full disk, a signal) is thrown and says how far it came.
    mutating func run() throws -> AppendReport {
        let meter = ProgressMeter("bytes")
        defer { meter.finish() }
        do {
            while let line = try lines.next() {
                batch.append(line)
                batchBytes += line.byteCount
                guard
                    batch.count == FileAppender.linesPerCommit
                        || batchBytes >= FileAppender.bytesPerCommitMax
                else { continue }
                try commit()
                meter.update("append", done: lines.bytesRead, total: byteCount)
                if Interruption.isRequested { throw Interrupted(message: "") }
            }
            try commit()
            return report
        } catch {
            let done =
                doneLines == 0
                ? "no line was recorded"
                : "of the lines up to \(doneLines), \(report.recorded) events are recorded"
            if error is Interrupted { throw Interrupted(message: done) }
            throw CommandError(error).adding(done)
        }
    }

    private mutating func commit() throws {
        var events: [ProposedEvent] = []
        var refused: [(line: Int, error: ModelError)] = []
        for (index, result) in FileAppender.read(batch).enumerated() {
            switch result {
            case .success(let event): if let event { events.append(event) }
            case .failure(let error): refused.append((doneLines + index + 1, error))
            }
        }
        if !events.isEmpty { report.add(try log.appendBlocking(events)) }
        for refusal in refused { report.refuse(line: refusal.line, refusal.error) }
        doneLines += batch.count
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
    }

    /// The lines' events, in their order; nil for an empty line.
    private static func read(
        _ lines: [LineReader.Line]
    ) -> [Result<ProposedEvent?, ModelError>] {
        let parts = ProcessInfo.processInfo.activeProcessorCount
        let found = Mutex([[Result<ProposedEvent?, ModelError>]](repeating: [], count: parts))
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            let range = lines.count * part / parts..<lines.count * (part + 1) / parts
            let results = lines[range].map { line in
                Result { () throws(ModelError) in try EventLine.proposal(line) }
            }
            found.withLock { $0[part] = results }
        }
        return found.withLock { $0.flatMap { $0 } }
    }
}
