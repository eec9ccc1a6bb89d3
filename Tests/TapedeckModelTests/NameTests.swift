import TapedeckModel
import Testing

struct NameTests {
    @Test(arguments: [
        "show/1", "video/youtube:abc", "a-1/ ", "user/é/ü", "user/\u{301}a", "x//", "0/日本",
    ])
    func wellFormedTagIsAccepted(_ text: String) throws {
        let tag = try Tag(text)
        #expect(tag.text == text)
        #expect(try Tag(String(tag.kind), tag.name) == tag)
        #expect(Array(text.utf8).withUnsafeBytes(Tag.isWellFormed))
    }

    @Test(arguments: ["", "/", "show", "show/", "/1", "Show/1", "sh ow/1", "é/1", "show_x/1"])
    func malformedTagIsRefused(_ text: String) {
        let error = #expect(throws: ModelError.self) { try Tag(text) }
        #expect(error?.code == .invalidTag)
        #expect(!Array(text.utf8).withUnsafeBytes(Tag.isWellFormed))
    }

    @Test func tagLengthIsLimited() throws {
        let longest = "n/" + String(repeating: "x", count: Tag.lengthMax - 2)
        #expect(try Tag(longest).text == longest)
        #expect(throws: ModelError.self) { try Tag(longest + "x") }
        // The limit counts bytes, not characters.
        #expect(throws: ModelError.self) { try Tag("n/" + String(repeating: "é", count: 200)) }
    }

    @Test func invalidUTF8IsNotATag() {
        #expect(![0x6E, 0x2F, 0xFF].withUnsafeBytes(Tag.isWellFormed))
        #expect(![0x6E, 0x2F, 0xC3].withUnsafeBytes(Tag.isWellFormed))
        #expect(![0x6E, 0x2F, 0xC0, 0x80].withUnsafeBytes(Tag.isWellFormed))
    }

    @Test func tagsAreOrderedByBytes() throws {
        let tags = try ["a/Z", "a/a", "a/é", "b/a"].map { try Tag($0) }
        #expect(tags.shuffled().sorted() == tags)
    }

    @Test(arguments: ["A", "WatchLaterToggled", "tapedeck.v1.Thing_2", "x1"])
    func wellFormedEventTypeIsAccepted(_ name: String) throws {
        #expect(try EventType(name).name == name)
    }

    @Test(arguments: ["", " ", "a b", "a-b", "é", "a/b", "a\0"])
    func malformedEventTypeIsRefused(_ name: String) {
        let error = #expect(throws: ModelError.self) { try EventType(name) }
        #expect(error?.code == .invalidType)
    }

    @Test func eventTypeLengthIsLimited() throws {
        let longest = String(repeating: "T", count: EventType.lengthMax)
        #expect(try EventType(longest).name == longest)
        #expect(throws: ModelError.self) { try EventType(longest + "T") }
    }

    @Test func eventIDsAreParsedAndPrinted() throws {
        let id = EventID(origin: OriginID(high: 1, low: 0xFFFF), sequence: 42)
        #expect(id.description == "0000000000000001000000000000ffff-42")
        #expect(EventID(id.description) == id)
        #expect(EventID("0000000000000001000000000000FFFF-42") == id)
        let all = EventID(
            origin: OriginID(high: 0x0123_4567_89AB_CDEF, low: .max), sequence: .max)
        #expect(all.description == "0123456789abcdefffffffffffffffff-18446744073709551615")
        #expect(EventID(all.description) == all)
        for text in [
            "", "-", "1-1", "0000000000000001000000000000ffff", "0000000000000001000000000000ffff-",
            "0000000000000001000000000000ffff-0", "0000000000000001000000000000ffff--1",
            "0000000000000001000000000000ffff-+1", "0000000000000001000000000000fffg-1",
            "+000000000000001000000000000ffff-1", "0000000000000001000000000000ffff-1-1",
            "0000000000000001000000000000ffff-99999999999999999999",
        ] { #expect(EventID(text) == nil, "\(text)") }
    }

    @Test func originsAreOrderedByBytes() {
        let origins = [
            OriginID(high: 0, low: 1), OriginID(high: 0, low: .max), OriginID(high: 1, low: 0),
        ]
        #expect(origins.shuffled().sorted() == origins)
        #expect(origins.map(\.description).sorted() == origins.map(\.description))
    }
}
