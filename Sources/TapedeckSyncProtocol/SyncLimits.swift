/// The limits of the protocol.
package enum SyncLimits {
    /// The protocol version of this program.
    ///
    /// Version 1 had no checksum at the end of a body.
    package static let protocolVersion: UInt32 = 2
    /// The maximum size of a push body after decompression, in bytes; the largest event fits.
    package static let pushBytesMax = 32 << 20
    /// The default size of a push, in bytes: about 5,000 events.
    package static let pushBytesUsual = 1 << 20
    /// The maximum number of entries in one push.
    package static let pushEntriesMax = 16_384
    /// The maximum number of bytes that a device can request in a pull; a larger entry is sent
    /// alone.
    package static let pullBytesMax = 16 << 20
    /// The default number of bytes that a device requests in a pull.
    package static let pullBytesUsual = 4 << 20
    /// The maximum number of entries in the response to a pull.
    package static let pullEntriesMax = 65_536
    /// The minimum size of a compressed body, in bytes; shorter bodies are sent uncompressed.
    package static let compressedBytesMin = 512
    /// The time that a body may take to arrive however short it is, in seconds.
    package static let bodySecondsMax = 30
    /// The minimum rate, in bytes per second, at which a body must arrive after the first
    /// `bodySecondsMax` seconds; half the rate of a slow mobile link.
    package static let bodyBytesPerSecondMin = 4 << 10
}
