import TapedeckModel
import TestSupport
import Testing

struct WireFieldsTests {
    @Test func fieldsAreReadInPlace() {
        // Field 1 is 150, field 2 is "testing", field 3 is fixed32 1, and field 4 is fixed64 2.
        let bytes: [UInt8] =
            [0x08, 0x96, 0x01, 0x12, 0x07] + Array("testing".utf8) + [0x1D, 1, 0, 0, 0]
            + [0x21, 2, 0, 0, 0, 0, 0, 0, 0]
        var fields = WireFields(bytes.span.bytes)
        var numbers: [Int] = []
        while let field = fields.next() {
            numbers.append(field.number)
            switch field.number {
            case 1: #expect(field.uint64 == 150)
            case 2:
                #expect(fields.string(field) == "testing")
                #expect(fields.copy(field) == Array("testing".utf8))
            case 3: #expect(field.uint64 == 1)
            default: #expect(field.uint64 == 2)
            }
        }
        #expect(numbers == [1, 2, 3, 4])
        let isMalformed = fields.isMalformed
        #expect(!isMalformed)
    }

    @Test func arbitraryBytesDoNotCrash() {
        var random = SeededRandom(Seed.fresh())
        for _ in 0..<20_000 {
            let bytes = random.bytes(.random(in: 0...40, using: &random))
            var fields = WireFields(bytes.span.bytes)
            var count = 0
            while let field = fields.next() {
                count += 1
                if field.kind == .bytes {
                    _ = fields.string(field)
                    _ = fields.milliseconds(field)
                }
            }
            #expect(count <= bytes.count)
        }
    }
}
