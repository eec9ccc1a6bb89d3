internal import Foundation
package import SwiftProtobuf
package import TapedeckModel

/// How messages stand in bodies.
package enum WireFormat: Sendable, CaseIterable {
    /// Protobuf's own form.
    case protobuf
    /// Protobuf's JSON mapping, for people and for tools.
    case json

    package var mediaType: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }

    /// The format that a header names, parameters or not; nil for any other.
    package init?(mediaType: some StringProtocol) {
        let name = mediaType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
        switch name.lowercased() {
        case "application/x-protobuf", "application/protobuf": self = .protobuf
        case "application/json": self = .json
        default: return nil
        }
    }
}

/// A message that stands in a body of its own.
package protocol WireMessage: SwiftProtobuf.Message {}

/// A message that says in which version of the protocol its sender speaks.
private protocol VersionedMessage {
    var `protocol`: UInt32 { get }
}

/// What ends every protobuf body: field 15, a `fixed32` with the CRC-32C of all bytes before it.
///
/// JSON, which people write, has none.
private enum WireCheck {
    /// Field 15 of wire type 5.
    private static let tag = UInt8(15 << 3 | 5)
    private static let count = 5

    static func append(to bytes: inout [UInt8]) {
        let sum = bytes.withUnsafeBytes { crc32c($0) }
        bytes.append(tag)
        bytes.appendLittleEndian(sum)
    }

    /// The bytes before the check; nil where it does not fit them.
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
    /// Reads a body.
    ///
    /// Fields that this program does not know are skipped. Throws `ModelError`: `.altered` for a protobuf body whose
    /// check is missing or wrong, `.protocolMismatch` for the handshake of a program that writes none, `.malformedRequest`.
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
                "a body is not a \(Self.protoMessageName): \(ForeignError.text(error))")
        }
    }

    private static func unchecked(_ bytes: [UInt8]) -> ModelError {
        // One changed bit makes no 1 of this version's number.
        if let message = try? Self(serializedBytes: bytes),
            (message as? any VersionedMessage)?.protocol == 1
        {
            return ModelError(
                .protocolMismatch,
                "the other side speaks version 1 of the protocol, this program version"
                    + " \(SyncLimits.protocolVersion)", hint: "upgrade the older one")
        }
        return ModelError(
            .altered,
            "a \(Self.protoMessageName) was changed on the way: the check at its end does not fit",
            hint: "it is sent again; look at what stands between the two sides")
    }

    /// The body.
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
                "a \(Self.protoMessageName) cannot be written: \(ForeignError.text(error))")
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
