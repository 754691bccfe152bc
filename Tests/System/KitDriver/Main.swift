import Foundation
import ParleyFoundationTransport
import ParleyKit
import ParleyLinuxTransport
import ParleyTransport

/// A user of ParleyKit that is killed again and again: `Tests/System/test_kit.py`.
///
///     KitDriver work|settle DIRECTORY CONVERSATION…
///     KitDriver attach DIRECTORY CONVERSATION FILE
///     KitDriver finish|read|seen|gone DIRECTORY CONVERSATION
///
/// `work` writes until somebody ends it, and keeps a journal of what it is about to do and what it did. `settle` waits until
/// everything is sent and received, compares the copy with the server, and prints what it found as JSON. The others are
/// about files: see `FileUser`.
@main
enum KitDriver {
    static func main() async throws {
        let words = CommandLine.arguments
        let directory = URL(fileURLWithPath: words[2])
        let last = words[1] == "attach" ? words.count - 1 : words.count
        let conversations = words[3..<last].compactMap { UUIDBytes($0).map(ConversationID.init) }
        let parley = try await Parley.open(
            try configuration(directory, usesFoundation: ["settle", "finish", "read"].contains(words[1])))
        Task { for await problem in parley.problems { tell("problem: \(problem)") } }
        if let task = FileUser.Task(rawValue: words[1]) {
            return try await FileUser(parley: parley, id: conversations[0]).run(task, file: words.last!)
        }
        await parley.connect()
        if words[1] == "work" {
            let journal = try Journal(directory.appendingPathComponent("journal"))
            let worker = Worker(parley: parley, conversations: conversations, journal: journal)
            try await worker.work()
        } else {
            print(try await Settlement(parley: parley).report(conversations))
            await parley.close()
        }
    }

    /// `settle`, `finish` and `read` make their requests by `URLSession`, so that both transports are tried.
    private static func configuration(_ directory: URL, usesFoundation: Bool) throws -> Parley.Configuration {
        let environment = ProcessInfo.processInfo.environment
        guard let server = environment["KIT_HTTP"].flatMap(URL.init),
            let socket = environment["KIT_WS"].flatMap(URL.init),
            let media = environment["KIT_MEDIA"].flatMap(URL.init),
            let token = environment["KIT_TOKEN"]
        else { fatalError("KIT_HTTP, KIT_WS, KIT_MEDIA and KIT_TOKEN name the server and the user") }
        var transport = try Transport.linux(server: server, socket: socket, media: media)
        if usesFoundation {
            transport.http = URLSessionHTTP(server: server)
            transport.media = URLSessionHTTP(server: media)
        }
        return .init(directory: directory, transport: transport, token: { token })
    }

    static func tell(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
