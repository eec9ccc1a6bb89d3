/// The limits of the protocol.
package enum SyncLimits {
    /// The version of the protocol that this program speaks.
    ///
    /// Version 1 had no check at the end of a body.
    package static let protocolVersion: UInt32 = 2
    /// The longest body of a push after decompression; the greatest event fits.
    package static let pushBytesMax = 32 << 20
    /// How long a device makes a push when nothing tells it otherwise: a batch of about 5,000 events.
    package static let pushBytesUsual = 1 << 20
    /// Entries of a push after which the device begins another.
    package static let pushEntriesMax = 16_384
    /// The most bytes that a device may ask for in a pull; a greater single entry comes alone.
    package static let pullBytesMax = 16 << 20
    /// What a device asks for in a pull.
    package static let pullBytesUsual = 4 << 20
    /// Entries in an answer to a pull.
    package static let pullEntriesMax = 65_536
    /// Bodies that are shorter are not compressed.
    package static let compressedBytesMin = 512
}
