import Foundation
import TapedeckModel
import TapedeckVideo
import Testing

@Suite struct JSONParserTests {
    private func text(_ json: String) throws -> String? {
        guard case .string(let text) = try JSONParser.parse(Array(json.utf8)) else { return nil }
        return text
    }

    @Test(arguments: [
        #"{"a":[1,2.5,-3e2,true,false,null,"x",{}],"b":{}}"#, "[]", " [ ] ", "1", "0", "-0", "\"\"",
        "null", "[[[[]]]]", "1e5", "1.25E-3", "\u{FEFF}{}",
    ])
    func validDocumentsAreParsed(_ json: String) throws {
        _ = try JSONParser.parse(Array(json.utf8))
    }

    @Test(arguments: [
        "", " ", "{", "[", "]", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "01",
        "1.",
        ".5", "-", "+1", "1e", "tru", "nul", "nan", "Infinity", "'a'", "\"a", "\"\\x\"",
        "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\t\"", "[1 2]", "{} {}", "[\u{0}]",
        "\u{FEFF}\u{FEFF}1",
    ])
    func invalidJSONIsRefused(_ json: String) {
        let error = #expect(throws: ModelError.self) { try JSONParser.parse(Array(json.utf8)) }
        #expect(error?.code == .malformedJSON)
        #expect(error?.message.hasPrefix("line ") == true)
    }

    @Test func escapesAreDecoded() throws {
        #expect(
            try text(#""a\"\\\/\b\f\n\r\té😀""#) == "a\"\\/\u{8}\u{C}\n\r\té😀")
        #expect(try text(#""\u0000""#) == "\u{0}")
    }

    @Test func numbersAreConvertedOnlyWithoutLoss() throws {
        func number(_ json: String) throws -> JSONValue { try JSONParser.parse(Array(json.utf8)) }
        #expect(try number("9223372036854775807").int64 == .max)
        #expect(try number("9223372036854775808").int64 == nil)
        #expect(try number("1180591620717411303424").int64 == nil)
        #expect(try number("1e400").double == nil)
        #expect(try number("1e3").int64 == 1_000)
        #expect(try number("2.0").int64 == 2)
        #expect(try number("2.5").int64 == nil)
    }

    @Test func errorsNameTheLineAndColumn() {
        let error = #expect(throws: ModelError.self) {
            try JSONParser.parse(Array("{\n  \"é\": [1,\n x]}".utf8))
        }
        #expect(error?.message == "line 3, column 2: expected a value")
    }

    @Test(arguments: [127, 128, 129, 1_000_000])
    func nestingDepthIsLimited(_ depth: Int) {
        let json =
            [UInt8](repeating: UInt8(ascii: "["), count: depth)
            + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        if depth <= JSONParser.depthMax {
            #expect(throws: Never.self) { try JSONParser.parse(json) }
        } else {
            let error = #expect(throws: ModelError.self) { try JSONParser.parse(json) }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test func acceptedDocumentsAreAcceptedByFoundation() throws {
        let seed = Array(#"{"a":[1,2.5,-3e2,true,null,"x\né"],"b":{"c":"d"}}"#.utf8)
        var generator = SeededGenerator(seed: runSeed)
        let alphabet = Array(#"{}[]",:0123456789.eE+-truefalsn\u \#u{09}é"#.utf8)
        for _ in 0..<5_000 {
            var json = seed
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<json.count, using: &generator)
                json[place] = alphabet.randomElement(using: &generator) ?? 0
            }
            let ours = (try? JSONParser.parse(json)) != nil
            let theirs =
                (try? JSONSerialization.jsonObject(
                    with: Data(json), options: .fragmentsAllowed)) != nil
            // Foundation accepts some invalid JSON, but the parser must not accept anything that
            // Foundation refuses.
            if ours {
                #expect(
                    theirs, "TAPEDECK_SEED=\(runSeed): \(String(decoding: json, as: UTF8.self))")
            }
        }
    }
}
