internal import Foundation
internal import TapedeckModel

/// The reader of our output has gone away: the program ends, and nothing is wrong.
struct ClosedPipe: Error {}

/// The two streams that the program writes to.
///
/// Everything that is printed goes through here, so a closed pipe or a full disk is noticed at each
/// write, and not lost in a buffer at exit.
enum StandardOutput {
    /// Whether people read the reports.
    static let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Whether reports may be coloured: https://no-color.org asks for a way out.
    static let isColoured: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return isTerminal && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM"] != "dumb"
    }()
    /// Whether people read the diagnostics.
    static let isErrorTerminal = isatty(STDERR_FILENO) == 1

    /// How many columns a terminal has.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Writes a report, all of it.
    ///
    /// Throws `ClosedPipe` where nobody reads any more, and `CommandError` where it cannot be
    /// written.
    static func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
    }

    /// Writes a line of a report.
    static func line(_ text: String) throws { try write(text + "\n") }

    /// Writes a line of diagnostics, whatever it holds made visible; what cannot be written is lost.
    static func diagnose(_ text: String) {
        var text = VisibleText.line(text) + "\n"
        text.withUTF8 { try? write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Writes a part of a line of diagnostics, such as a progress bar.
    static func draw(_ text: String) {
        var text = text
        text.withUTF8 { try? write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }

    /// Whether the reader of our output has gone away.
    static var isClosed: Bool {
        var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLERR | POLLNVAL) != 0
    }

    /// Makes sure that no file that is opened later takes the place of a stream that was closed:
    /// a report would be written into it.
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
                    hint: "look where stdout leads")
            }
        }
    }
}
