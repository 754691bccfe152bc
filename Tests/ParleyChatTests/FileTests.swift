import Foundation
import Models
import ParleyPresentation
import ParleyStorage
import Testing

@testable import ParleyChat

@Suite struct FileTests {
    private static func file(_ name: String, type: String = "image/png", number: UInt64 = 1) -> Models.Attachment {
        Models.Attachment(
            id: MediaID(UUIDBytes(high: 4, low: number)), name: name, type: type, size: 1_234_567, width: 640,
            height: 480)
    }

    private static func carrier(_ seq: Int64, by sender: UserID = ben, _ files: [Models.Attachment]) -> TimelineRow {
        var message = said(seq, by: sender)
        message.text = nil
        message.attachments = files
        return TimelineRow(
            message: message, attachments: files.map { AttachmentRow(attachment: $0, message: message.id) })
    }

    @Test("a file is shown by its kind, name, size and dimensions, also in the list and where it is found")
    func shows() {
        var device = Device([Self.carrier(1, [Self.file("walk.png"), Self.file("plan.pdf", type: "application/pdf")])])
        #expect(device.shows("Photo: walk.png · 1.2 MB · 640×480"))
        #expect(device.shows("File: plan.pdf"))
        var listed = entry()
        listed.latest = Self.carrier(1, [Self.file("walk.png")])
        device.apply(.list([listed], hasMore: false))
        #expect(device.shows("ben: Photo"))
        device.press(.control("f"), .text("walk"))
        device.apply(.found("walk", [listed.latest!.message]))
        #expect(device.shows("   Photo"))
    }

    @Test("whatever a stranger calls a file, no line of the screen is disturbed", arguments: HostileTextTests.texts)
    func hostileNames(name: String) {
        for (columns, rows) in [(24, 8), (80, 24)] {
            var device = Device(columns: columns, rows: rows, [Self.carrier(1, [Self.file(name)])])
            device.press(.up, .text("s"))
            let frame = device.screen.frame()
            #expect(frame.lines.allSatisfy { $0.width == columns })
            #expect(frame.text.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x9B } })
        }
    }

    @Test("how far an upload is, is told below its message")
    func progress() {
        var row = unsent(1, "look")
        row.message.attachments = [Self.file("walk.png")]
        var device = Device([row])
        device.apply(.uploads(talkId(), [row.id: UploadProgress(sentBytes: 250_000, totalBytes: 1_000_000)]))
        #expect(device.shows("Uploading 25 % (250.0 kB of 1.0 MB)"))
        device.apply(.connection(.waiting))
        #expect(device.shows("Waiting for the server"))
    }

    @Test("a file is sent with what was being written, as an answer if it was one")
    func attaches() {
        var device = Device([row(1)])
        device.press(.up, .text("r"))
        device.type("look")
        device.press(.control("t"))
        #expect(device.shows("What you have written goes with it."))
        device.type("~/walk.png")
        _ = device.deeds()
        device.press(.enter)
        #expect(device.deeds() == [.sendFile(path: "~/walk.png", "look", replyTo: messageId(1))])
        #expect(!device.shows("look"))
        device.press(.control("t"), .escape)
        #expect(device.deeds().isEmpty)
    }

    @Test("a file is saved under a harmless name; a message without any says so")
    func saves() {
        let files = [Self.file("../../.bashrc"), Self.file("b.txt", number: 2)]
        let carrier = Self.carrier(2, files)
        var device = Device([row(1), carrier])
        device.press(.up, .text("s"))
        #expect(device.shows("1 of 2: "))
        device.press(.enter)
        #expect(device.deeds() == [.saveFile(carrier.attachments[0], path: "bashrc")])
        device.press(.text("s"), .tab, .enter)
        #expect(device.deeds() == [.saveFile(carrier.attachments[1], path: "b.txt")])
        device.press(.up, .text("s"))
        #expect(device.shows("The message has no file."))
    }

    @Test("messages with files are replied to only where the server allows it")
    func replies() {
        var device = Device([Self.carrier(1, [Self.file("walk.png")])])
        device.press(.up, .text("r"))
        #expect(device.shows("Messages with files cannot be replied to here."))
        device.apply(.repliesToAttachments(true))
        device.press(.text("r"))
        #expect(device.shows("Reply to ben: Photo"))
    }

    @Test("a path that was dragged into the terminal, quoted as for a shell, is understood")
    func draggedPaths() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("a walk \(UUID().uuidString).png")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let escaped = file.path.replacingOccurrences(of: " ", with: "\\ ")
        for path in [file.path, " \(file.path) ", "'\(file.path)'", "\"\(file.path)\"", escaped] {
            #expect(UserPath.url(path).path == file.path)
        }
        #expect(UserPath.url("it's").lastPathComponent == "it's")
        #expect(UserPath.url("~/a").path == FileManager.default.homeDirectoryForCurrentUser.path + "/a")
    }

    @Test("a file is copied where the user says, and nothing is overwritten")
    func copies() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("parleychat-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appendingPathComponent("source")
        try Data("content".utf8).write(to: source)
        let target = folder.appendingPathComponent("walk.png")
        #expect(await UserPath.copy(source, to: folder.path, named: "walk.png") == "Saved as \(target.path).")
        #expect(try Data(contentsOf: target) == Data("content".utf8))
        try Data("mine".utf8).write(to: target)
        #expect(await UserPath.copy(source, to: target.path, named: "x").contains("there is already"))
        let link = folder.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.appendingPathComponent("new"))
        #expect(await UserPath.copy(source, to: link.path, named: "x").contains("there is already"))
        #expect(try Data(contentsOf: target) == Data("mine".utf8))
        #expect(await UserPath.copy(source, to: folder.path + "/absent/a", named: "x").contains("cannot be written"))
    }
}
