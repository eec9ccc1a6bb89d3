internal import Foundation
internal import TapedeckModel

/// Reports a crash caused by a store's damaged files as an error.
///
/// LMDB maps its file into memory. If a page's structure is damaged, or the disk cannot read a
/// page, the system sends a signal during the read. The program cannot continue after such a
/// signal, so it reports the damage and exits with the code for damage. The program writes nothing
/// to the store, so the damage does not get worse.
enum CrashGuard {
    // Both buffers are set once, before the handler is installed. The handler only prints them and
    // exits, because a signal handler may do little else.
    private nonisolated(unsafe) static var diagnosis = UnsafeMutableRawBufferPointer(
        start: nil, count: 0)
    private nonisolated(unsafe) static var document = UnsafeMutableRawBufferPointer(
        start: nil, count: 0)

    private static let stackByteCount = 1 << 16

    /// Installs the handler for crashes during reads of the store in `directory`.
    static func install(_ directory: String, isJSON: Bool, hint: String) {
        let error = CommandError(
            .damaged, "reading the store in \(directory) crashed: one of its files is damaged",
            hint: hint)
        diagnosis = bytes(
            "error: \(VisibleText.line(error.message))\n"
                + "hint: \(VisibleText.line(error.hint ?? ""))\n")
        document = bytes(isJSON ? JSON.object([("error", error.json)]).line + "\n" : "")
        var stack = stack_t()
        stack.ss_sp = UnsafeMutableRawPointer.allocate(byteCount: stackByteCount, alignment: 16)
        stack.ss_size = stackByteCount
        sigaltstack(&stack, nil)
        for number in [SIGBUS, SIGSEGV, SIGABRT] {
            var action = sigaction()
            action.sa_flags = SA_ONSTACK
            #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = { _ in CrashGuard.end() }
            #else
                action.__sigaction_handler.sa_handler = { _ in CrashGuard.end() }
            #endif
            sigaction(number, &action, nil)
        }
    }

    private static func end() {
        _ = write(STDERR_FILENO, diagnosis.baseAddress, diagnosis.count)
        _ = write(STDOUT_FILENO, document.baseAddress, document.count)
        _exit(ExitClass.damaged.rawValue)
    }

    private static func bytes(_ text: String) -> UnsafeMutableRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: text.utf8.count, alignment: 1)
        buffer.copyBytes(from: text.utf8)
        return buffer
    }
}
