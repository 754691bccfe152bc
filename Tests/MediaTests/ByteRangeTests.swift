import Bytes
import Testing

@testable import Media

struct ByteRangeTests {
    @Test(
        "A range of bytes is read as RFC 9110 has it",
        arguments: [
            ("bytes=0-4", ByteRange.part(offset: 0, count: 5)), ("bytes=5-", .part(offset: 5, count: 5)),
            ("bytes=-3", .part(offset: 7, count: 3)), ("bytes=-30", .part(offset: 0, count: 10)),
            ("Bytes=9-100", .part(offset: 9, count: 1)), ("bytes=10-", .unsatisfiable),
            ("bytes=10-20", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=0-4,6-7", .whole),
            ("bytes=4-2", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
            ("lines=0-4", .whole), ("bytes=0-99999999999999999999", .whole), ("bytes= 1-2", .whole),
        ])
    func ranges(field: String, expected: ByteRange) {
        #expect(Array(field.utf8).withUnsafeBytes { ByteRange($0, of: 10) } == expected)
    }

    @Test("Nothing of an empty file can be asked for")
    func empty() {
        #expect(Array("bytes=0-".utf8).withUnsafeBytes { ByteRange($0, of: 0) } == .unsatisfiable)
        #expect(ByteRange(nil, of: 0) == .whole)
    }

    @Test(
        "A tag is found in If-None-Match, weak or strong",
        arguments: [
            ("\"ab\"", true), ("W/\"ab\"", true), ("\"x\", \"ab\"", true), ("*", true), ("\"abc\"", false),
            ("ab", false), ("\"ab\" \"x\"", true), ("", false),
        ])
    func tags(field: String, isNamed: Bool) {
        let tag = EntityTag("ab", .content)
        #expect(Array(field.utf8).withUnsafeBytes { tag.isNamed(in: $0) } == isNamed)
    }

    @Test("The parts of a file have tags of their own")
    func parts() { #expect(EntityTag("ab", .small) != EntityTag("ab", .large)) }
}
