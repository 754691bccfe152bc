import Archives
import Bytes
import CommandSupport
import Edge
import Models
import Reactor
import TestSupport
import Testing

@testable import ParleyCLI

/// An archive of one conversation with so many messages.
private struct Example: ArchiveReader, Sendable {
    let messages: Int
    var fails = false

    func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        let id = "01900000-0000-7000-8000-00000000cafe"
        func line(_ text: String, _ number: Int) throws {
            try receive(
                SourceRecord(line: Array(text.utf8), at: .line(number), share: Double(number) / Double(messages + 2)))
        }
        try line(#"{"type":"conversation","id":"\#(id)"}"#, 1)
        for number in 0..<messages { try line(#"{"type":"message","conversationId":"\#(id)"}"#, number + 2) }
        if fails { throw ArchiveError("the disk is gone") }
        try line(#"{"type":"end","conversationId":"\#(id)"}"#, messages + 2)
        return ArchiveReport()
    }
}

/// Takes imports, and does in one of its first calls what servers and networks do. The real server is in the tests of
/// whole systems.
@Reactor
private final class ImportServer: HTTPHandler {
    enum Fault: CaseIterable, Sendable {
        case none, refusesCalls, cutsOff, isBusy, endsEarly
        // Of these a client must not make a success.
        case isNoImport, numbersWrongly, refusesForGood
    }

    let fault: Fault
    private var server: Server!
    private(set) var port = 0
    private(set) var calls = 0

    init(_ fault: Fault) throws {
        self.fault = fault
        server = Server(self)
        port = try server.listen(at: "127.0.0.1:0")
    }

    func stop() { server.drain(deadline: .zero) {} }

    func admit(_ request: Request) -> RequestAdmission {
        calls += 1
        switch fault {
        case .refusesForGood: return .refused(refusal(403, #"{"code":"forbidden","detail":"no"}"#))
        case .refusesCalls where calls < 3: return .refused(refusal(503, "", [.retryAfter(seconds: 0)]))
        default: return .streamed(ImportCall(fault, isFirst: calls == 1))
        }
    }

    private func refusal(_ status: Int, _ text: String, _ headers: [ResponseHeader] = []) -> Refusal {
        var body = ByteBuffer()
        body.append(utf8: text)
        return Refusal(status, .problem, headers: headers, body: body)
    }

    func handle(_: Request, _ responder: Responder) { responder.respond(404) }
}

@Reactor
private final class ImportCall: StreamHandler {
    private let fault: ImportServer.Fault
    private let isFirst: Bool
    private var stream: RequestStream?
    private var lines = 0

    init(_ fault: ImportServer.Fault, isFirst: Bool) {
        self.fault = fault
        self.isFirst = isFirst
    }

    func opened(_ stream: RequestStream) {
        self.stream = stream
        stream.begin(200, .lines)
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        for _ in 0..<bytes.count(where: { $0 == UInt8(ascii: "\n") }) { answer() }
    }

    private func answer() {
        lines += 1
        switch fault {
        case .cutsOff where isFirst && lines == 500: stream?.abandon()
        case .endsEarly where isFirst && lines == 500: stream?.end()
        case .isBusy where isFirst && lines > 300:
            let problem = #"{"title":"Unavailable","status":503,"code":"unavailable","detail":"away"}"#
            write(#"{"line":\#(lines),"status":503,"problem":\#(problem)}"#)
        case .isNoImport: write("hello")
        case .numbersWrongly: write(#"{"line":\#(lines + 1),"status":200}"#)
        default: write(#"{"line":\#(lines),"status":200}"#)
        }
    }

    private func write(_ line: String) { Array((line + "\n").utf8).withUnsafeBytes { stream?.write($0) } }

    func bodyEnded() { stream?.end() }
    func drained() {}
    func closed() { stream = nil }
}

@Suite struct ImportUploadTests {
    init() { ReactorThread.start() }

    @Reactor private func upload(
        _ example: Example, to server: ImportServer, patience: Duration = .seconds(60)
    ) throws -> ImportUpload {
        let words = ["--http", "http://127.0.0.1:\(server.port)", "--secret-file", "/etc/hostname"]
        let arguments = try Arguments(
            words, for: CommandDescription(name: "x", summary: "", options: ConnectionArguments.options))
        var settings = ImportUpload.Settings()
        settings.patience = patience
        return ImportUpload(example, to: try ConnectionArguments(arguments), settings: settings)
    }

    @Test(
        "every line has its result, whatever becomes of a call",
        arguments: [ImportServer.Fault.none, .refusesCalls, .cutsOff, .isBusy, .endsEarly])
    @Reactor private func survives(fault: ImportServer.Fault) async throws {
        let server = try ImportServer(fault)
        defer { server.stop() }
        let upload = try upload(Example(messages: 20_000), to: server)
        guard case .complete(.success) = await upload.run() else {
            Issue.record("it is not complete")
            return
        }
        #expect(upload.tally.stored == [.conversation: 1, .message: 20_000, .end: 1])
        #expect(upload.tally.isFaultless && upload.tally.share == 20_002.0 / 20_002.0)
        #expect((server.calls > 1) == (fault != .none))
    }

    @Test(
        "what is no import is none",
        arguments: [
            (.isNoImport, "protocol"), (.numbersWrongly, "not the next one"), (.refusesForGood, "forbidden: no"),
        ] as [(ImportServer.Fault, String)])
    @Reactor private func fails(fault: ImportServer.Fault, reason: String) async throws {
        let server = try ImportServer(fault)
        defer { server.stop() }
        guard case .failed(let said) = await (try upload(Example(messages: 5), to: server)).run() else {
            Issue.record("it did not fail")
            return
        }
        #expect(said.contains(reason))
        #expect(server.calls == 1)
    }

    @Test("an archive that cannot be read to its end is said so, and what came before is stored")
    @Reactor func unreadable() async throws {
        let server = try ImportServer(.none)
        defer { server.stop() }
        let upload = try upload(Example(messages: 5, fails: true), to: server)
        guard case .complete(.failure(let error)) = await upload.run() else {
            Issue.record("it did not fail")
            return
        }
        #expect("\(error)".contains("disk"))
        #expect(upload.tally.stored == [.conversation: 1, .message: 5] && upload.tally.unended == 1)
    }

    @Test("where no server is, it is tried until patience ends, and can be continued")
    @Reactor func nowhere() async throws {
        let server = try ImportServer(.none)
        server.stop()
        let upload = try upload(Example(messages: 5), to: server, patience: .milliseconds(600))
        guard case .unfinished = await upload.run() else {
            Issue.record("it is finished")
            return
        }
        #expect(upload.tally.settled == 0)
    }

    @Test("who interrupts it has the results of what is on its way")
    @Reactor func interrupted() async throws {
        let server = try ImportServer(.none)
        defer { server.stop() }
        let upload = try upload(Example(messages: 2_000_000), to: server)
        Reactor.spawn {
            _ = await eventually { upload.tally.settled > 1_000 }
            upload.stop()
        }
        guard case .unfinished(let reason) = await upload.run() else {
            Issue.record("it is finished")
            return
        }
        #expect(reason == "interrupted")
        #expect((1_001..<2_000_000).contains(upload.tally.settled))
    }
}
