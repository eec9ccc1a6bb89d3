internal import Synchronization
internal import Tapedeck

/// Shows a progress bar with the rate and the remaining time on stderr if the work takes longer
/// than a second.
///
/// The bar is drawn only if stderr is a terminal, at most ten times a second, and is erased at the
/// end. The methods may be called from any thread.
final class ProgressMeter: Sendable {
    private struct State {
        var phase = ""
        var phaseStart: ContinuousClock.Instant
        /// The amount done when the phase was first reported.
        var phaseFirst: UInt64 = 0
        var phaseDone: UInt64 = 0
        var lastDraw: ContinuousClock.Instant
        var isDrawn = false
        var isFinished = false
    }

    private static let quiet = Duration.seconds(1)
    private static let interval = Duration.milliseconds(100)
    private static let barWidth = 24

    private let isShown: Bool
    private let unit: String
    private let start = ContinuousClock.now
    private let state: Mutex<State>

    /// - Parameter unit: The plural noun of the counted unit, such as `events`.
    init(_ unit: String, isShown: Bool = StandardOutput.isErrorTerminal) {
        self.isShown = isShown
        self.unit = unit
        let now = ContinuousClock.now
        state = Mutex(State(phaseStart: now, lastDraw: now))
    }

    /// Reports the progress of a phase; `total` is nil if it is unknown.
    func update(_ phase: String, done: UInt64, total: UInt64?) {
        guard isShown else { return }
        let now = ContinuousClock.now
        state.withLock { state in
            if state.phase != phase {
                state.phase = phase
                state.phaseStart = now
                state.phaseFirst = done
                state.phaseDone = done
            }
            // Threads may report out of order.
            state.phaseDone = max(state.phaseDone, done)
            guard !state.isFinished, now - start > ProgressMeter.quiet,
                now - state.lastDraw > ProgressMeter.interval
            else { return }
            state.lastDraw = now
            state.isDrawn = true
            let seconds = (now - state.phaseStart).inSeconds
            let rate = seconds > 0 ? Double(state.phaseDone - state.phaseFirst) / seconds : 0
            let line = ProgressMeter.line(
                phase, state.phaseDone, total, rate: rate, unit: unit)
            StandardOutput.draw("\r\u{1B}[K" + line)
        }
    }

    /// Erases the bar; later updates draw nothing.
    func finish() {
        state.withLock { state in
            if state.isDrawn { StandardOutput.draw("\r\u{1B}[K") }
            state.isDrawn = false
            state.isFinished = true
        }
    }

    /// Returns the line to draw; `rate` is the number of units per second.
    static func line(
        _ phase: String, _ done: UInt64, _ total: UInt64?, rate: Double, unit: String
    ) -> String {
        let speed = rate >= 1 ? "\(Figures.grouped(Int64(rate))) \(unit)/s" : "- \(unit)/s"
        guard let total, total > 0 else {
            return "\(phase)  \(Figures.grouped(done)) \(unit)  \(speed)"
        }
        let part = min(1, Double(done) / Double(total))
        let filled = Int(part * Double(barWidth))
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: ".", count: barWidth - filled)
        let rest = rate >= 1 ? Figures.clock(Double(total - min(done, total)) / rate) : "-"
        return "\(phase)  [\(bar)] \(Int(part * 100)) %  \(speed)  ETA \(rest)"
    }
}

extension Duration {
    /// The duration in seconds, including fractions.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension ProgressMeter {
    /// Runs long work on a log with a progress bar, and erases the bar afterwards.
    static func showing<R>(
        _ unit: String, _ body: (@escaping LogProgress.Report) throws -> R
    ) rethrows -> R {
        let meter = ProgressMeter(unit)
        defer { meter.finish() }
        return try body { meter.update($0.phase.rawValue, done: $0.done, total: $0.total) }
    }
}
