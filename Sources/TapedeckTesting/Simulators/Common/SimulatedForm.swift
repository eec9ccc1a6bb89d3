internal import Foundation

/// A file in a multipart form.
struct SimulatedFile: Hashable, Sendable {
    var name: String
    var filename: String
    var bytes: [UInt8]

    /// The part of the file name after the last dot, in lower case.
    var fileExtension: String {
        filename.split(separator: ".").count > 1
            ? filename.split(separator: ".").last?.lowercased() ?? "" : ""
    }

    /// The FNV-1a hash of the bytes, which distinguishes uploads from each other.
    var checksum: String {
        // The hash is computed in a plain loop over memory, because videos are large and tests are
        // compiled without optimization.
        let hash = bytes.withUnsafeBytes { bytes in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            var index = 0
            while index < bytes.count {
                hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
                index &+= 1
            }
            return hash
        }
        return String(hash, radix: 16)
    }
}

/// A request body decoded as a URL-encoded or multipart form.
struct SimulatedForm {
    var fields: [SimulatedField] = []
    var files: [SimulatedFile] = []

    init(_ request: SimulatedRequest) throws(OutsideTables) {
        guard !request.body.isEmpty else { return }
        let type = request.header("Content-Type") ?? ""
        let media = type.prefix { $0 != ";" }.lowercased()
        switch media {
        case "application/x-www-form-urlencoded":
            fields = SimulatedField.parse(urlEncoded: String(decoding: request.body, as: UTF8.self))
        case "multipart/form-data":
            guard let boundary = SimulatedForm.parameter("boundary", of: type) else {
                throw OutsideTables("the form has no boundary")
            }
            try readParts(request.body, boundary: boundary)
        default:
            throw OutsideTables("the body is not a form: \(type)")
        }
    }

    /// Returns the value of `name="value"` or `name=value` in a header.
    private static func parameter(_ name: String, of header: String) -> String? {
        for part in header.split(separator: ";").dropFirst() {
            let pair = part.drop { $0 == " " }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, pair[0].lowercased() == name else { continue }
            var value = pair[1]
            if value.hasPrefix("\""), value.hasSuffix("\""), value.count > 1 {
                value = value.dropFirst().dropLast()
            }
            return String(value)
        }
        return nil
    }

    private mutating func readParts(_ body: [UInt8], boundary: String) throws(OutsideTables) {
        let lineEnd = Array("\r\n".utf8)
        let blank = Array("\r\n\r\n".utf8)
        let fence = Array("--\(boundary)".utf8)
        let bytes = body[...]
        guard let first = SimulatedForm.range(of: fence, in: bytes) else {
            throw OutsideTables("the form has no parts")
        }
        var rest = bytes[first.upperBound...]
        while rest.starts(with: lineEnd) {
            guard let next = SimulatedForm.range(of: lineEnd + fence, in: rest),
                let head = SimulatedForm.range(of: blank, in: rest[..<next.lowerBound])
            else { throw OutsideTables("a part of the form has no end") }
            let lines = String(decoding: rest[..<head.lowerBound], as: UTF8.self)
            add(lines, rest[head.upperBound..<next.lowerBound])
            rest = rest[next.upperBound...]
        }
        guard rest.starts(with: Array("--".utf8)) else {
            throw OutsideTables("the form has no end")
        }
    }

    /// Returns the first occurrence of `wanted`, found with `memchr` because videos are large.
    private static func range(of wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress, let first = wanted.first else { return nil }
            var offset = 0
            while memory.count - offset >= wanted.count,
                let found = memchr(base + offset, Int32(first), memory.count - offset)
            {
                offset = base.distance(to: UnsafeRawPointer(found))
                guard memory.count - offset >= wanted.count else { return nil }
                if memcmp(base + offset, wanted, wanted.count) == 0 {
                    let start = bytes.startIndex + offset
                    return start..<start + wanted.count
                }
                offset += 1
            }
            return nil
        }
    }

    private mutating func add(_ head: String, _ content: ArraySlice<UInt8>) {
        for line in head.split(separator: "\r\n") {
            guard line.lowercased().hasPrefix("content-disposition:") else { continue }
            let name = SimulatedForm.parameter("name", of: String(line)) ?? ""
            if let filename = SimulatedForm.parameter("filename", of: String(line)) {
                files.append(SimulatedFile(name: name, filename: filename, bytes: Array(content)))
            } else {
                fields.append(SimulatedField(name, String(decoding: content, as: UTF8.self)))
            }
        }
    }
}
