package import Foundation
package import TapedeckModel

extension OriginID {
    /// The id as 16 bytes.
    package var data: Data {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(high)
        bytes.appendBigEndian(low)
        return Data(bytes)
    }

    /// Reads 16 bytes; returns nil for any other number of bytes.
    package init?(_ data: Data) {
        guard let halves = data.halves else { return nil }
        self.init(high: halves.0, low: halves.1)
    }
}

extension LineageID {
    /// The id as 16 bytes.
    package var data: Data { OriginID(high: high, low: low).data }

    /// Reads 16 bytes; returns nil for any other number of bytes.
    package init?(_ data: Data) {
        guard let halves = data.halves else { return nil }
        self.init(high: halves.0, low: halves.1)
    }
}

extension Data {
    fileprivate var halves: (UInt64, UInt64)? {
        guard count == 16 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for byte in prefix(8) { high = high << 8 | UInt64(byte) }
        for byte in dropFirst(8) { low = low << 8 | UInt64(byte) }
        return (high, low)
    }
}
