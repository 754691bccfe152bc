import Testing

@testable import MediaInspector

@Suite struct WebPFileTests {
    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array(name.utf8) + [UInt8(content.count), 0, 0, 0] + content + (content.count % 2 == 1 ? [0] : [])
    }

    static func file(_ chunks: [UInt8]...) -> [UInt8] {
        let body = Array("WEBP".utf8) + chunks.joined()
        return Array("RIFF".utf8) + [UInt8(body.count), 0, 0, 0] + body
    }

    static let picture = chunk("VP8 ", [1, 2, 3])

    @Test("metadata, and the flags that announce it, are taken out")
    func metadata() {
        let found = Self.file(
            Self.chunk("VP8X", [0x3E, 0, 0, 0, 9]), Self.chunk("ICCP", [1]), Self.picture, Self.chunk("EXIF", [1, 2]),
            Self.chunk("XMP ", [3]))
        #expect(
            WebPFile.withoutMetadata(found) == Self.file(Self.chunk("VP8X", [0x12, 0, 0, 0, 9]), Self.picture))
    }

    @Test("a file without metadata stays as it is")
    func plain() {
        #expect(WebPFile.withoutMetadata(Self.file(Self.picture)) == Self.file(Self.picture))
    }
}
