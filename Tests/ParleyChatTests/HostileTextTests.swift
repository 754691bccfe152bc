import Models
import ParleyStorage
import Testing

@testable import ParleyChat

@Suite struct HostileTextTests {
    static let texts = [
        String(repeating: "line\n", count: 500), "\u{1B}[2J\u{1B}[H\u{9B}31m\u{7}",
        "\u{202E}evil\u{2066}\u{2069}", String(repeating: "Z\u{335}\u{301}\u{489}", count: 300),
        String(repeating: "漢", count: 200), String(repeating: "👩‍👩‍👧", count: 90), "שלום עולם مرحبا",
        String(repeating: "x", count: 2_000), "a\tb\r\nc\u{2028}d\u{85}e", "\u{FFFE}\u{10FFFF}\u{E000}\u{1F1E6}",
        "", " ", "\u{200B}\u{200D}\u{FE0F}", "👩" + String(repeating: "\u{200D}👩", count: 500),
        String(repeating: "\u{1100}", count: 500),
    ]

    @Test("whatever is written, every line is as wide as the screen", arguments: texts)
    func anyText(text: String) {
        for (columns, rows) in [(24, 8), (71, 24), (72, 24), (201, 60)] {
            var reply = row(2, by: anna, text)
            reply.parent = .init(id: messageId(1), senderId: ben, preview: String(text.prefix(50)))
            var device = Device(columns: columns, rows: rows, [row(1, by: ben, text), reply, refused(3, text)])
            var listed = entry(title: text)
            listed.latest = row(1, by: ben, text)
            listed.draft = Draft(text: text)
            device.apply(.list([listed], hasMore: false))
            expectWhole(device)
            device.apply(.names(UserNames([ben: text, anna: text])))
            expectWhole(device)
            for keys in [[.text(text)], [.up], [.enter], [.up, .enter], [.text("t")], [.escape, .text("r")]] as [[Key]]
            {
                for key in keys { device.press(key) }
                expectWhole(device)
            }
            device.press(.control("f"), .text(text))
            device.apply(.found(device.query ?? "", [said(1, text)]))
            expectWhole(device)
            device.press(.escape, .control("n"), .text(text), .tab, .text(text), .enter)
            expectWhole(device)
            device.press(.escape, .help)
            expectWhole(device)
            device.press(.escape, .control("g"), .text("a"), .text(text), .enter)
            expectWhole(device)
            device.press(.escape, .text("e"), .text(text), .enter)
            expectWhole(device)
            device.press(.escape, .escape, .up, .up, .text("v"))
            device.apply(.revisions(messageId(1), [Revision(text: text, at: at(0)), Revision(text: text, at: at(1))]))
            device.press(.pageDown, .up)
            expectWhole(device)
            device.apply(.untrusted(text))
            device.apply(.connection(.waiting))
            expectWhole(device)
            device.apply(.notice(text))
            expectWhole(device)
        }
    }

    @Test("any keys in any order leave a whole screen", arguments: UInt64(0)..<20)
    func anyKeys(seed: UInt64) {
        var random = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        var device = Device(
            (1...30).map { row($0, by: $0 % 3 == 0 ? anna : ben, Self.texts[Int($0) % Self.texts.count]) })
        let keys: [Key] = [
            .up, .down, .left, .right, .pageUp, .pageDown, .home, .end, .enter, .newline, .escape, .tab, .backspace,
            .delete, .wordLeft, .wordRight, .control("f"), .control("n"), .control("w"), .control("u"), .help, .focusIn,
            .focusOut, .wheel(up: true), .wheel(up: false), .click(column: 3, row: 2), .text("r"), .text("e"),
            .text("t"), .text("d"), .text("m"), .text("x"), .text("1"), .text("p"), .text("v"), .text("a"), .text("o"),
            .text("l"), .text("y"), .text("漢"), .text("👍"), .control("g"), .control("o"),
        ]
        for step in 0..<120 {
            device.press(keys.randomElement(using: &random)!)
            if step % 20 == 0 {
                let size = Size(
                    columns: .random(in: 1...120, using: &random), rows: .random(in: 1...50, using: &random))
                device.apply(.resized(size))
                let first = Int64.random(in: 1...20, using: &random)
                device.show(
                    (first...first + 20).map { row($0, by: $0 % 3 == 0 ? anna : ben) }, moreBefore: true,
                    moreAfter: true)
            }
            expectWhole(device)
        }
    }

    @Test("long names leave room for the title")
    func longNames() {
        var device = Device([row(1)])
        let names = (1...4).map { UserID("somebody-with-a-long-name-\($0)")! }
        device.apply(.members(talkId(), names.map { Membership(userId: $0, role: .member, joinedSeq: 1) }))
        let head = device.text[1].split(separator: "│")[1]
        #expect(head.contains("Sunday") && head.contains("2 members"))
    }

    @Test("one character of any length takes no more than a part of a line")
    func longCharacter() {
        let device = Device(columns: 120, [row(1, by: ben, "👩" + String(repeating: "\u{200D}👩", count: 500) + " end")])
        #expect(device.shows("👩") && device.shows("end"))
    }

    @Test("a message of thousands of lines is cut off until one wants all of it")
    func longMessages() {
        var device = Device([row(1, by: ben, String(repeating: "line\n", count: 4_999) + "end")])
        #expect(device.shows("… 4971 more lines"))
        device.press(.up, .enter)
        device.press(.escape)
        #expect(device.shows("end") && !device.shows("more lines"))
    }
}

private func expectWhole(_ device: Device, sourceLocation: SourceLocation = #_sourceLocation) {
    let frame = device.screen.frame()
    let size = device.screen.size
    #expect(frame.lines.count == size.rows, sourceLocation: sourceLocation)
    #expect(frame.lines.allSatisfy { $0.width == size.columns }, sourceLocation: sourceLocation)
    for line in frame.lines {
        let columns = line.text.unicodeScalars.reduce(0) { $0 + TerminalLocale.width(of: $1) }
        #expect(columns == line.width, "ncurses counts as we do", sourceLocation: sourceLocation)
    }
    guard let cursor = frame.cursor else { return }
    #expect((0..<size.columns).contains(cursor.column), sourceLocation: sourceLocation)
    #expect((0..<size.rows).contains(cursor.row), sourceLocation: sourceLocation)
}

extension Device {
    fileprivate var query: String? {
        guard case .search(let panel) = screen.focus else { return nil }
        return panel.query
    }
}

private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
