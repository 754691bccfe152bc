import Foundation
import Models
import ParleyKit

/// What a client costs that is online, with a list and a conversation on the screen, while nothing happens.
enum Idling {
    static let seconds = 20

    static func measure() async throws {
        let folder = try Folder()
        let server = FramesServer()
        let parley = try await Parley.open(
            .init(directory: folder.url, transport: server.transport, token: { "token" }))
        await parley.connect()
        let tasks = [
            Task { for await _ in parley.conversations() {} },
            Task { for await _ in parley.conversation(talk).timeline() {} },
            Task { for await _ in parley.conversation(talk).receipts {} },
        ]
        try await Task.sleep(for: .seconds(2))
        let before = Usage.cpuMilliseconds
        try await Task.sleep(for: .seconds(seconds))
        let used = Usage.cpuMilliseconds - before
        KitLoad.print("CPU of an idle client, in \(seconds) s", String(format: "%.1f ms", used))
        for task in tasks { task.cancel() }
        await parley.close()
    }
}
