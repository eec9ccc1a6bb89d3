internal import TapedeckLMDB
internal import TapedeckModel

/// Compares two builds of a projection side by side.
enum ViewsComparison {
    static func first(
        _ driver: ProjectionDriver, _ left: ViewsFile.Tables, _ live: borrowing ReadTransaction,
        _ right: ViewsFile.Tables, _ fresh: borrowing ReadTransaction
    ) throws -> ViewsDifference? {
        for part in ViewsDigest.Part.allCases {
            let one = try live.cursor(left.table(part))
            let other = try fresh.cursor(right.table(part))
            var a = try one.first()
            var b = try other.first()
            while a != nil || b != nil {
                let what: String?
                var key = a?.key ?? b?.key
                if let x = a, let y = b {
                    if x.key.elementsEqual(y.key) {
                        what = x.value.elementsEqual(y.value) ? nil : "the values differ"
                    } else if x.key.precedes(y.key) {
                        what = "the live tables contain the entry, but a fresh rebuild does not"
                    } else {
                        key = y.key
                        what = "a fresh rebuild contains the entry, but the live tables do not"
                    }
                } else {
                    what =
                        a != nil
                        ? "the live tables contain the entry, but a fresh rebuild does not"
                        : "a fresh rebuild contains the entry, but the live tables do not"
                }
                if let what, let key {
                    return ViewsDifference(
                        projection: driver.name, part: "\(part)", key: readable(key, part),
                        what: what)
                }
                a = try one.next()
                b = try other.next()
            }
        }
        return nil
    }

    /// Returns a readable form of a key.
    ///
    /// The keys of states and items are shown as tags. Unprintable bytes are shown in hexadecimal.
    static func readable(_ key: UnsafeRawBufferPointer, _ part: ViewsDigest.Part) -> String {
        if part != .rows, key.count > 9 {
            let end = min(key.count, 9 + Int(key[8]))
            let tag = String(decoding: key[9..<end], as: UTF8.self)
            return end == key.count ? tag : tag + " " + printable(key[end...])
        }
        return printable(key[...])
    }

    private static func printable(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var text = ""
        for byte in bytes {
            text +=
                (0x21...0x7E).contains(byte)
                ? String(UnicodeScalar(byte)) : "\\x" + [byte].hex
        }
        return text
    }
}
