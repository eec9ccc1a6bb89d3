internal import Foundation
internal import TapedeckModel

/// The position at which a page ended: the list's letter, the last row's key and a checksum,
/// encoded as base64url.
///
/// Cursors are opaque to callers. The checksum detects truncated and invented cursors, and the
/// letter detects cursors from another list.
struct PageCursor {
    /// The list to which a cursor belongs.
    enum List: UInt8 {
        case videos = 0x76
        case duplicates = 0x64
        case watchLater = 0x77
        case comments = 0x63
        case answers = 0x61
        case recordedAnswers = 0x72
        case questions = 0x71
        case pendingQuestions = 0x70
        case askedQuestions = 0x6B
        case likers = 0x6C
        case users = 0x75
        case popular = 0x50
        case new = 0x4E
        case waitingSubmissions = 0x57
        case chat = 0x48
        case accounts = 0x41
        case playability = 0x01
        case playable = 0x02
        case unplayable = 0x03
        case failedChecks = 0x04
        case dueChecks = 0x05
        case uncheckedVideos = 0x06
        case failedExtractions = 0x07
        case inProgress = 0x08
        case devices = 0x09
        case devicesOfVideo = 0x0A
        case queue = 0x0B
        case downloads = 0x0C
        case group = 0x0D
        case groupBackwards = 0x0E
        case shares = 0x0F
        case recipients = 0x10
        case lists = 0x11
        case followers = 0x46
        case following = 0x47
        case search = 0x53
    }

    /// A key that sorts after every row of a list.
    static let end: [UInt8] = [0xFF]

    /// Returns whether a string is a valid cursor for a list.
    static func isOf(_ list: List, _ text: String) -> Bool { (try? key(list, text)) != nil }

    /// The maximum length of a cursor, in bytes.
    static let textBytesMax = 1_024

    /// Returns the cursor that continues after a row.
    static func text(_ list: List, _ key: [UInt8]) -> String {
        var bytes = [list.rawValue] + key
        bytes.appendBigEndian(bytes.withUnsafeBytes { crc32c($0) })
        // Replace the characters in one pass, because replacing substrings would cost as much as
        // reading a small page.
        let text = Data(bytes).base64EncodedString().utf8.compactMap { letter -> UInt8? in
            switch letter {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: letter
            }
        }
        return text.utf8Text
    }

    /// Returns the row's key, or nil if there is no cursor.
    ///
    /// Throws `ModelError` with `.usage` if the string is not a cursor for this list.
    static func key(_ list: List, _ text: String?) throws(ModelError) -> [UInt8]? {
        guard let text else { return nil }
        let error = ModelError(
            .usage, "the cursor does not belong to this list",
            hint: "pass the \"next\" value of the previous page, or no cursor for the first page")
        guard text.utf8.count <= textBytesMax else { throw error }
        var base64 = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: base64), data.count > 5 else { throw error }
        let bytes = Array(data)
        var expected: [UInt8] = []
        expected.appendBigEndian(bytes[..<(bytes.count - 4)].withUnsafeBytes { crc32c($0) })
        guard bytes[0] == list.rawValue, Array(bytes.suffix(4)) == expected else { throw error }
        return Array(bytes[1..<(bytes.count - 4)])
    }
}
