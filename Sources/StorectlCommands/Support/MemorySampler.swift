internal import Foundation
internal import Synchronization

/// Measures the peak of the process's anonymous memory on a separate thread.
///
/// On Linux, the result is the peak of RssAnon, computed from `/proc/self/statm`. Pages of mapped
/// files are not counted, because the system can drop them at any time.
final class MemorySampler: Sendable {
    private static let microseconds: UInt32 = 20_000
    private static let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
    private let peak = Mutex<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    /// Starts measuring.
    init() {
        sample()
        let thread = Thread { [weak self] in
            while let self, !self.isStopped.load(ordering: .relaxed) {
                self.sample()
                usleep(MemorySampler.microseconds)
            }
        }
        thread.name = "memory"
        thread.start()
    }

    /// Stops measuring and returns the peak in bytes.
    func stop() -> Int {
        sample()
        isStopped.store(true, ordering: .relaxed)
        return peak.withLock { $0 }
    }

    private func sample() {
        let now = MemorySampler.anonymousBytes()
        peak.withLock { $0 = max($0, now) }
    }

    /// Returns the number of bytes of anonymous memory that the process uses now.
    static func anonymousBytes() -> Int {
        #if canImport(Darwin)
            var info = task_vm_info_data_t()
            var count = mach_msg_type_number_t(
                MemoryLayout<task_vm_info_data_t>.size / MemoryLayout<natural_t>.size)
            let code = withUnsafeMutablePointer(to: &info) { pointer in
                pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, task_flavor_t(TASK_VM_INFO), $0, &count)
                }
            }
            return code == KERN_SUCCESS ? Int(info.phys_footprint) : 0
        #else
            let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return 0 }
            defer { _ = close(file) }
            let text = String(unsafeUninitializedCapacity: 256) { buffer in
                max(0, read(file, buffer.baseAddress, buffer.count))
            }
            // The file contains page counts: all pages, resident pages, shared resident pages, …
            let pages = text.split(separator: " ")
            guard pages.count > 2, let resident = Int(pages[1]), let shared = Int(pages[2]) else {
                return 0
            }
            return (resident - shared) * pageBytes
        #endif
    }
}
