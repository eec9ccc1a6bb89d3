internal import Foundation
internal import TapedeckLog
internal import TapedeckModel

/// A clock that runs steadily even if the wall clock is changed; it also identifies the current
/// boot.
package struct SteadyClock: Sendable {
    /// Returns the id of the current boot and the time since that boot in milliseconds, including
    /// sleep.
    package var read: @Sendable () -> (boot: String, milliseconds: UInt64)

    package init(_ read: @escaping @Sendable () -> (boot: String, milliseconds: UInt64)) {
        self.read = read
    }

    /// The clock of this machine.
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

/// An estimate of the sync server's clock from the last handshake.
///
/// The estimate is never ahead of the server's clock and lags by at most the duration of a
/// response.
struct ServerClock {
    private static let name = "server-clock"

    /// Returns a row with the server time of a handshake that has just been received.
    static func row(_ milliseconds: UInt64, _ clock: SteadyClock) -> SyncRow {
        let (boot, steady) = clock.read()
        var bytes: [UInt8] = []
        bytes.appendPrefixed(boot)
        bytes.appendLittleEndian(steady)
        bytes.appendLittleEndian(milliseconds)
        return SyncRow(name, bytes)
    }

    /// Returns the current server time, in milliseconds since 1970; nil if no handshake
    /// has been stored since the machine booted.
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
