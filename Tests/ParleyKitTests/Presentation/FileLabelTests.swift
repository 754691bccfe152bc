import Models
import ParleyPresentation
import ParleyStorage
import Testing

@Suite struct FileLabelTests {
    @Test(
        "sizes are told in three or four digits",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_949, "1.9 kB"), (1_950, "2.0 kB"), (999_900, "999.9 kB"),
            (1_000_000, "1.0 MB"), (12_345_678, "12.3 MB"), (2_000_000_000, "2.0 GB"), (.max, "9223372036.9 GB"),
        ] as [(Int64, String)])
    func sizes(bytes: Int64, text: String) { #expect(FileLabel.size(bytes) == text) }

    @Test("a file is told by what is known of it")
    func details() {
        func label(_ width: Int?, _ duration: Double?) -> String {
            FileLabel(
                Models.Attachment(
                    id: MediaID(UUIDBytes(high: 1, low: 1)), name: "a\u{1B}[2J\nb.mov", type: "video/quicktime",
                    size: 10, width: width, height: width, duration: duration)
            ).text
        }
        #expect(label(640, 62.6) == "a[2J b.mov · 10 B · 640×640 · 1:03")
        #expect(label(nil, 3_725) == "a[2J b.mov · 10 B · 1:02:05")
        #expect(label(nil, .infinity) == "a[2J b.mov · 10 B")
    }

    @Test(
        "a name that a stranger chose stays in its folder, and is what it seems",
        arguments: [
            ("walk.png", "walk.png"), ("../../etc/passwd", "passwd"), ("/", "file"), ("..", "file"), ("", "file"),
            (".bashrc", "bashrc"), ("-rf", "rf"), ("~root", "root"), ("a\\b\\c.exe", "c.exe"), ("C:evil", "evil"),
            ("ex\u{202E}gpj.exe", "exgpj.exe"), ("a\u{0}b\u{1B}c", "abc"), ("a\nb", "a b"), ("  . x", "x"),
        ])
    func safeNames(name: String, safe: String) { #expect(SafeFileName.of(name) == safe) }

    @Test("a long name keeps its end")
    func longNames() {
        let name = SafeFileName.of(String(repeating: "ä", count: 300) + ".png")
        #expect(name.utf8.count <= 200 && name.hasSuffix("ä.png"))
        #expect(SafeFileName.of(String(repeating: "x", count: 500)).utf8.count <= 200)
    }

    @Test("a list shows what the first file is, where there is no text")
    func previews() {
        var message = said(1, by: ben)
        message.text = nil
        message.attachments = [
            Models.Attachment(id: MediaID(UUIDBytes(high: 1, low: 1)), name: "x", type: "audio/ogg", size: 1)
        ]
        let maker = BubbleMaker(viewer: anna)
        #expect(MessagePreview.line(of: message, viewer: anna, naming: true, maker: maker) == "ben: Audio")
        let actions = MessageActions(TimelineRow(message: message), viewer: anna, now: at(0))
        #expect(actions.refusal(of: .reply) == .withFiles)
        #expect(actions.refusal(of: .tapback) == nil)
    }
}
