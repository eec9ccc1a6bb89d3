internal import Dispatch
internal import Foundation
internal import Synchronization
internal import Tapedeck

/// Records the events of a file line by line, with bounded memory.
///
/// Lines are gathered into batches. Parsing JSON takes most of the time, so each batch is parsed on
/// all cores. Each batch is then recorded in one commit.
struct FileAppender {
    /// The maximum number of lines in a commit.
    static let linesPerCommit = 1_000
    /// The number of bytes after which a batch is committed even if it has fewer lines.
    static let bytesPerCommitMax = 16 << 20

    private let log: EventLog
    private let byteCount: UInt64?
    private var lines: LineReader
    private var report = AppendReport()
    private var batch: [LineReader.Line] = []
    private var batchBytes = 0
    /// The number of lines that have been recorded or refused.
    private var doneLines = 0

    init(log: EventLog, input: FileInput) {
        self.log = log
        byteCount = input.byteCount
        lines = LineReader(input)
    }

    /// Records the events of all lines.
    ///
    /// - Throws: The error that stopped the run, such as a full disk or a signal, with the number
    ///   of recorded events added to its message.
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
            if doneLines == 0, (error as? LogError)?.code == .mustReopen { throw error }
            let done =
                doneLines == 0
                ? "no events were recorded"
                : "recorded \(Figures.count(report.recorded, "event")) from the first"
                    + " \(Figures.count(doneLines, "line"))"
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

    /// Parses lines and returns their events in order; nil for a blank line.
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
