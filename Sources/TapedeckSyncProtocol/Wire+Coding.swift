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

extension WireMessage {
    /// Reads a body; throws `.malformedRequest`.
    ///
    /// Fields that this program does not know are skipped.
    package init(decoding bytes: [UInt8], as format: WireFormat) throws(ModelError) {
        do {
            switch format {
            case .protobuf:
                try self.init(serializedBytes: bytes)
            case .json:
                var options = JSONDecodingOptions()
                options.ignoreUnknownFields = true
                try self.init(jsonUTF8Bytes: bytes, options: options)
            }
        } catch {
            throw ModelError(
                .malformedRequest, "a body is not a \(Self.protoMessageName): \(error)")
        }
    }

    /// The body.
    package func encoded(as format: WireFormat) throws(ModelError) -> [UInt8] {
        do {
            switch format {
            case .protobuf: return try serializedBytes()
            case .json: return try jsonUTF8Bytes()
            }
        } catch {
            throw ModelError(
                .internalError, "a \(Self.protoMessageName) cannot be written: \(error)")
        }
    }
}

extension WireHandshakeRequest: WireMessage {}
extension WireHandshakeResponse: WireMessage {}
extension WireLineageRequest: WireMessage {}
extension WirePushRequest: WireMessage {}
extension WirePushResponse: WireMessage {}
extension WirePullRequest: WireMessage {}
extension WirePullResponse: WireMessage {}
extension WireErrorResponse: WireMessage {}
