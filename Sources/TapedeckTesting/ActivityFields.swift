/// Writes the string fields of an activity as bytes, for both lines and events.
///
/// Every method appends UTF-8 that needs no escaping in JSON.
extension Activity {
    /// Appends the video's key: `youtube:` and eleven characters.
    func appendVideo(to bytes: inout [UInt8]) {
        bytes.add("youtube:")
        appendVideoID(to: &bytes)
    }

    private func appendVideoID(to bytes: inout [UInt8]) {
        var bits = SeededGenerator.mixed(videoRank &+ 0xC0FFEE)
        for _ in 0..<10 {
            bytes.append(Activity.digit(bits >> 58))
            bits <<= 6
        }
        // The last character carries four bits, as in real YouTube ids.
        bytes.append(Activity.digit(bits >> 58))
    }

    /// Returns a character of the base64url alphabet.
    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        switch value {
        case 0..<26: return 0x41 + value
        case 26..<52: return 0x61 + value - 26
        case 52..<62: return 0x30 + value - 52
        case 62: return UInt8(ascii: "-")
        default: return UInt8(ascii: "_")
        }
    }

    /// Appends a letter and the activity's number.
    func appendName(_ letter: UInt8, to bytes: inout [UInt8]) {
        bytes.append(letter)
        bytes.add(number)
    }

    /// Appends the video's title; one broadcast in eight has a variant of the title.
    func appendTitle(to bytes: inout [UInt8]) {
        let bits = SeededGenerator.mixed(videoRank &+ 0x717E)
        bytes.add(ActivityTexts.adjectives[Int(bits & 15)])
        bytes.append(0x20)
        bytes.add(ActivityTexts.nouns[Int(bits >> 4 & 15)])
        bytes.append(0x20)
        bytes.add(ActivityTexts.tails[Int(bits >> 8 & 15)])
        if draw & 7 == 0 { bytes.add(" (HD)") }
    }

    /// Appends one of a few thousand names.
    func appendPerson(to bytes: inout [UInt8]) {
        bytes.add(ActivityTexts.people[Int(draw >> 8 & 15)])
        bytes.add(draw >> 12 & 255)
    }

    /// Appends a short comment.
    func appendSaying(to bytes: inout [UInt8]) {
        bytes.add(ActivityTexts.openings[Int(draw >> 20 & 7)])
        bytes.append(0x20)
        bytes.add(ActivityTexts.endings[Int(draw >> 23 & 7)])
    }

    /// Appends the network on which the broadcast was shared.
    func appendNetwork(to bytes: inout [UInt8]) {
        bytes.add(ActivityTexts.networks[Int(draw >> 26 & 3)])
    }

    /// Appends the URL of the video's content.
    func appendAddress(to bytes: inout [UInt8]) {
        bytes.add("https://media.example/")
        appendVideoID(to: &bytes)
        bytes.add(".mp4?e=")
        bytes.add(expiresSeconds)
    }

    /// Appends the URL of an answer's video.
    func appendAnswerAddress(to bytes: inout [UInt8]) {
        bytes.add("https://answers.example/")
        bytes.add(number)
        bytes.add(".mp4")
    }

    /// Whether the broadcast has a comment by its sharer.
    var hasComment: Bool { draw >> 28 & 7 == 0 }
    /// Whether the network is known.
    var hasNetwork: Bool { draw >> 31 & 3 == 0 }
    /// Whether the comment is about an answer.
    var isAboutAnswer: Bool { draw >> 33 & 15 == 0 }
    /// Whether a broadcast that was observed again is on the watch-later list.
    var isMarked: Bool { count & 1 == 1 }
    /// For a broadcast that is observed again, the time of its update, in seconds since 1970.
    var updatedSeconds: UInt64 { seconds + count * 60 }
    /// The time at which the content's URL expires, in seconds since 1970: six hours after the
    /// activity.
    var expiresSeconds: UInt64 { atMilliseconds / 1_000 + 21_600 }
    /// The length of the video, in seconds.
    var durationSeconds: UInt64 { Activity.durationSeconds(ofVideo: videoRank) }
    /// For an uploaded answer, the number of its question; for a comment, the number of one of 256
    /// answers.
    var subject: UInt64 { kind == .answerUploaded ? number / 3 + 1 : draw >> 37 & 255 }
}

extension [UInt8] {
    @inline(__always)
    mutating func add(_ text: StaticString) {
        append(
            contentsOf: UnsafeBufferPointer(
                start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a number in decimal.
    mutating func add(_ value: UInt64) {
        var rest = value
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    /// Appends a number in decimal, padded with zeros.
    @inline(__always)
    mutating func add(_ value: UInt64, digits: Int) {
        var divisor: UInt64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends `YYYY-MM-DDTHH:MM:SSZ`, with milliseconds if they are given.
    mutating func addTime(seconds: UInt64, milliseconds: UInt64? = nil) {
        // From Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
        let shifted = seconds / 86_400 + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        add(yearOfEra + era * 400 + (month <= 2 ? 1 : 0), digits: 4)
        append(UInt8(ascii: "-"))
        add(month, digits: 2)
        append(UInt8(ascii: "-"))
        add(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, digits: 2)
        append(UInt8(ascii: "T"))
        add(seconds / 3_600 % 24, digits: 2)
        append(UInt8(ascii: ":"))
        add(seconds / 60 % 60, digits: 2)
        append(UInt8(ascii: ":"))
        add(seconds % 60, digits: 2)
        if let milliseconds {
            append(UInt8(ascii: "."))
            add(milliseconds, digits: 3)
        }
        append(UInt8(ascii: "Z"))
    }
}
