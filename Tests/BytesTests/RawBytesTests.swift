import Bytes
import Testing

@Suite struct RawBytesTests {
    @Test(
        "bytes are equal when they are as many and the same",
        arguments: [
            ("", "", true), ("a", "a", true), ("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false),
            ("", "a", false), ("a\u{0}b", "a\u{0}c", false),
        ])
    func equality(left: String, right: String, isEqual: Bool) {
        Array(left.utf8).withUnsafeBytes { left in
            Array(right.utf8).withUnsafeBytes { right in #expect(left.isEqual(to: right) == isEqual) }
        }
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(empty.isEqual(to: empty) && empty.isEqual(to: ""))
    }

    @Test("a byte is found where it comes first, in a part as in the whole")
    func search() {
        Array("a/b/c".utf8).withUnsafeBytes { bytes in
            #expect(bytes.position(of: UInt8(ascii: "/")) == 1)
            #expect(bytes.part(2, 5).position(of: UInt8(ascii: "/")) == 1)
            #expect(bytes.part(2, 3).position(of: UInt8(ascii: "/")) == nil)
            #expect(bytes.part(5, 5).position(of: UInt8(ascii: "/")) == nil)
            #expect(bytes.part(2, 5).isEqual(to: "b/c"))
        }
    }
}
