internal import Foundation
internal import TapedeckModel

/// Thrown if the reader of the output has closed the pipe; the program then ends with exit code 0.
struct ClosedPipe: Error {}

/// The two streams that the program writes to.
///
/// All output is unbuffered, so a closed pipe or a full disk is noticed at each write instead of
/// being overlooked at exit.
enum StandardOutput {
    /// Whether reports are printed to a terminal.
    static let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Whether reports may be coloured; see https://no-color.org.
    static let isColoured: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return isTerminal && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM"] != "dumb"
    }()
    /// Whether diagnostics are printed to a terminal.
    static let isErrorTerminal = isatty(STDERR_FILENO) == 1

    /// The number of columns of the terminal; 80 if it is unknown.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Writes a complete report.
    ///
    /// - Throws: `ClosedPipe` if the reader has closed the pipe, `CommandError` if the report
    ///   cannot be written.
    static func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
    }

    /// Writes a line of a report.
    static func line(_ text: String) throws { try write(text + "\n") }

    /// Writes a line of diagnostics with hidden characters escaped; a failed write is ignored.
    static func diagnose(_ text: String) {
        var text = VisibleText.line(text) + "\n"
        text.withUTF8 { try? write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Writes part of a line to stderr, such as a progress bar.
    static func draw(_ text: String) {
        var text = text
        text.withUTF8 { try? write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Whether the reader of the output has closed the pipe.
    static var isClosed: Bool {
        var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR | POLLNVAL) != 0
    }

    /// Opens `/dev/null` for each closed standard stream.
    ///
    /// If a standard stream stayed closed, a file opened later could get the stream's descriptor,
    /// and a report would be written to that file.
    static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
        var done = 0
        while done < bytes.count {
            let count = Foundation.write(
                descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
            if count >= 0 {
                done += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            case EPIPE: throw ClosedPipe()
            case ENOSPC, EDQUOT:
                throw CommandError(.diskFull, "the report cannot be written: the disk is full")
            default:
                throw CommandError(
                    .closed, "the report cannot be written: \(String(cString: strerror(errno)))",
                    hint: "check where stdout is redirected")
            }
        }
    }
}
