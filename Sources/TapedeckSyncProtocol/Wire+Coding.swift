internal import Foundation
package import SwiftProtobuf
package import TapedeckModel

/// The encoding of messages in HTTP bodies.
package enum WireFormat: Sendable, CaseIterable {
    /// Protobuf's binary encoding.
    case protobuf
    /// Protobuf's JSON mapping, for people and for tools.
    case json

    package var mediaType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }

    /// Parses the value of a header, ignoring parameters; returns nil if the media type is neither
    /// protobuf nor JSON.
    package init?(mediaType: some StringProtocol) {
        // Most messages come from a Tapedeck program.
        if let format = WireFormat.allCases.first(where: { $0.mediaType == mediaType }) {
            self = format
            return
        }
        let name = mediaType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        switch name.lowercased() {
        case "application/x-protobuf", "application/protobuf": self = .protobuf
        case "application/json": self = .json
        default: return nil
        }
    }
}

/// A message that is a complete HTTP body.
package protocol WireMessage: SwiftProtobuf.Message {}

/// A message that contains its sender's protocol version.
private protocol VersionedMessage {
    var `protocol`: UInt32 { get }
}

/// The checksum at the end of every protobuf body: field 15, a `fixed32` with the CRC-32C of all
/// bytes before it.
///
/// JSON bodies have no checksum, because people write them by hand.
private enum WireCheck {
    /// Field 15 of wire type 5.
    private static let tag = UInt8(15 << 3 | 5)
    private static let count = 5

    static func append(to bytes: inout [UInt8]) {
        let sum = bytes.withUnsafeBytes { crc32c($0) }
        bytes.append(tag)
        bytes.appendLittleEndian(sum)
    }

    /// Returns the bytes before the checksum, or nil if the checksum is missing or wrong.
    static func checked(_ bytes: [UInt8]) -> [UInt8]? {
        guard hasOne(bytes) else { return nil }
        let fits = bytes.withUnsafeBytes { raw in
            let body = UnsafeRawBufferPointer(rebasing: raw.dropLast(count))
            let sum = raw.loadUnaligned(
                fromByteOffset: raw.count - MemoryLayout<UInt32>.size, as: UInt32.self)
            return UInt32(littleEndian: sum) == crc32c(body)
        }
        return fits ? Array(bytes.dropLast(count)) : nil
    }

    static func hasOne(_ bytes: [UInt8]) -> Bool {
        bytes.count >= count && bytes[bytes.count - count] == tag
    }
}

extension WireMessage {
    /// Decodes a body.
    ///
    /// Unknown fields are ignored. Throws `ModelError`: `.altered` if the checksum of a protobuf
    /// body is missing or wrong, `.protocolMismatch` for a handshake in protocol version 1, which
    /// has no checksum, and `.malformedRequest` if the body is not a message of this type.
    package init(decoding bytes: [UInt8], as format: WireFormat) throws(ModelError) {
        do {
            switch format {
            case .protobuf:
                guard let body = WireCheck.checked(bytes) else { throw Self.unchecked(bytes) }
                try self.init(serializedBytes: body)
            case .json:
                var options = JSONDecodingOptions()
                options.ignoreUnknownFields = true
                try self.init(jsonUTF8Bytes: bytes, options: options)
            }
        } catch let error as ModelError {
            throw error
        } catch {
            throw ModelError(
                .malformedRequest,
                "the body is not a \(Self.protoMessageName) in \(format.mediaType)",
                hint: "schema/tapedeck/sync/v1/sync.proto defines the message")
        }
    }

    private static func unchecked(_ bytes: [UInt8]) -> ModelError {
        // A single flipped bit cannot turn this version's number, 2, into 1.
        if let message = try? Self(serializedBytes: bytes),
            (message as? any VersionedMessage)?.protocol == 1
        {
            return ModelError(
                .protocolMismatch,
                "the other side uses protocol version 1; this program uses version"
                    + " \(SyncLimits.protocolVersion)", hint: "upgrade the older program")
        }
        return ModelError(
            .altered,
            "a \(Self.protoMessageName) was changed in transit: its checksum is missing or wrong",
            hint:
                "the message will be sent again; if this happens often, check the proxies on the way"
        )
    }

    /// Encodes the message as a body.
    package func encoded(as format: WireFormat) throws(ModelError) -> [UInt8] {
        do {
            switch format {
            case .protobuf:
                var bytes: [UInt8] = try serializedBytes()
                WireCheck.append(to: &bytes)
                return bytes
            case .json: return try jsonUTF8Bytes()
            }
        } catch {
            throw ModelError(
                .internalError,
                "a \(Self.protoMessageName) cannot be encoded: \(ForeignError.text(error))")
        }
    }
}

extension WireHandshakeRequest: VersionedMessage {}
extension WireHandshakeResponse: VersionedMessage {}

extension WireHandshakeRequest: WireMessage {}
extension WireHandshakeResponse: WireMessage {}
extension WireLineageRequest: WireMessage {}
extension WirePushRequest: WireMessage {}
extension WirePushResponse: WireMessage {}
extension WirePullRequest: WireMessage {}
extension WirePullResponse: WireMessage {}
extension WireErrorResponse: WireMessage {}
