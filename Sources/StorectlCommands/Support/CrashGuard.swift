internal import Foundation
internal import TapedeckModel

/// Turns a crash inside a store's files into an error.
///
/// LMDB maps its file into memory. Where the structure of a page is damaged, or the disk cannot
/// give a page, the system sends a signal in the middle of a read. Nothing can go on from there;
/// what is left is to say what happened and to exit as for damage. Nothing is written by then, so
/// nothing becomes worse.
enum CrashGuard {
    // Written once, before the handler is installed; the handler reads them and does nothing else
    // than two writes and an exit, as nothing else is allowed there.
    private nonisolated(unsafe) static var diagnosis = UnsafeMutableRawBufferPointer(
        start: nil, count: 0)
    private nonisolated(unsafe) static var document = UnsafeMutableRawBufferPointer(
        start: nil, count: 0)

    private static let stackByteCount = 1 << 16

    /// Watches over reads of the store in `directory` from now on.
    static func install(_ directory: String, isJSON: Bool, hint: String) {
        let error = CommandError(
            .damaged, "reading the store in \(directory) has crashed: a file of it is damaged",
            hint: hint)
        diagnosis = bytes(
            "error: \(VisibleText.line(error.message))\nhint: \(VisibleText.line(hint))\n")
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
