import Testing

@testable import MediaInspector

@Suite struct OutputTests {
    /// What a writer wrote.
    final class Written {
        var bytes: [UInt8] = []
    }

    @Test("frames have a tag, a length and pieces of at most 64 KiB")
    func pieces() {
        let written = Written()
        let writer = FrameWriter {
            written.bytes += $0; return true
        }
        let content = (0..<FrameWriter.pieceBytes + 2).map { UInt8(truncatingIfNeeded: $0) }
        writer.append(.content, content)
        writer.append(.end, [])
        #expect(Array(written.bytes.prefix(6)) == [2, 0, 1, 0, 0, 0])
        #expect(Array(written.bytes.suffix(12)) == [2, 0, 0, 0, 2, 0, 1, 5, 0, 0, 0, 0])
        #expect(written.bytes.count == content.count + 3 * 5)
    }

    @Test("nothing more is written once nobody takes it")
    func nobodyReads() {
        let writer = FrameWriter { _ in false }
        #expect(!writer.append(.content, [1, 2]))
    }

    @Test("facts are JSON with what is known alone")
    func facts() {
        var facts = Facts(type: "video/mp4")
        facts.width = 640
        facts.height = 480
        facts.duration = 12_034
        facts.thumbhash = [0xFF, 0xEF, 0xBE, 0x01]
        facts.waveform = [0, 255]
        facts.thumbnails = [Facts.Thumbnail(size: .small, width: 256, height: 192)]
        let expected =
            #"{"type":"video/mp4","verdict":"ready","width":640,"height":480,"duration":12.034,"thumbhash":"/+++AQ==","#
            + #""waveform":[0,255],"thumbnails":[{"size":"small","width":256,"height":192,"type":"image/webp"}]}"#
        #expect(String(decoding: facts.json, as: UTF8.self) == expected)
        #expect(
            String(decoding: facts.json(refusedFor: .tooLarge), as: UTF8.self)
                == #"{"type":"video/mp4","verdict":"refused","reason":"tooLarge"}"#)
    }

    @Test(
        "bytes are encoded as base64 with padding",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy"),
        ])
    func base64(text: String, encoded: String) { #expect(Array(text.utf8).base64 == encoded) }
}
