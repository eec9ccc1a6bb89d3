internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// A clock that goes on evenly whatever happens to that of the day: it names the boot in which it counts.
package struct SteadyClock: Sendable {
    /// This boot, and the milliseconds since, sleep included.
    package var read: @Sendable () -> (boot: String, milliseconds: UInt64)

    package init(_ read: @escaping @Sendable () -> (boot: String, milliseconds: UInt64)) {
        self.read = read
    }

    /// The machine's own.
    package static let system = SteadyClock {
        var time = timespec()
        #if os(Linux)
            clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        let milliseconds = UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
        return (StoreDirectory.bootID, milliseconds)
    }
}

/// What the sync server's clock shows, as far as the last handshake tells: never ahead of it, and behind it
/// by no more than an answer takes.
struct ServerClock {
    private static let name = "server-clock"

    /// Keeps what a handshake told.
    @available(*, noasync)
    static func note(
        _ milliseconds: UInt64, _ clock: SteadyClock, in log: EventLog
    ) throws(LogError) {
        let (boot, steady) = clock.read()
        if let known = try now(clock, in: log), known <= milliseconds,
            milliseconds - known < exactness
        {
            return
        }
        var bytes: [UInt8] = []
        bytes.appendPrefixed(boot)
        bytes.appendLittleEndian(steady)
        bytes.appendLittleEndian(milliseconds)
        try log.setSyncRows([SyncRow(name, bytes)])
    }

    /// A handshake that tells the same within this many milliseconds costs no commit.
    private static let exactness: UInt64 = 1_000

    /// The server's time now, in Unix milliseconds; nil where none has been told in this boot.
    @available(*, noasync)
    static func now(_ clock: SteadyClock, in log: EventLog) throws(LogError) -> UInt64? {
        guard let value = try log.syncRow(name) else { return nil }
        let (boot, steady) = clock.read()
        return value.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            guard reader.prefixedString() == boot, let then = reader.littleEndian(UInt64.self),
                let told = reader.littleEndian(UInt64.self), then <= steady
            else { return nil }
            return told &+ (steady - then)
        }
    }
}
