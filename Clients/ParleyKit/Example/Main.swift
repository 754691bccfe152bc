import Foundation
import ParleyKit
import ParleyLinuxTransport  // On Apple platforms ParleyKit has a transport of its own.

/// A chat in a terminal: shows a conversation, and sends the lines that are typed.
///
///     ParleyExample SERVER SOCKET CONVERSATION TOKEN
@main
enum Example {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 5, let server = URL(string: words[1]), let socket = URL(string: words[2]),
            let conversation = UUIDBytes(words[3]).map(ConversationID.init)
        else { fatalError("usage: ParleyExample SERVER SOCKET CONVERSATION TOKEN") }
        let parley = try await open(server, socket, token: words[4])
        let talk = parley.conversation(conversation)
        Task { await showConnection(of: parley) }
        Task { await showMessages(of: talk) }
        Task { await showReceipts(of: talk) }
        Task { await showRefusals(of: parley) }
        try await sendLines(to: talk)
        await parley.close()
    }

    // snippet: open
    static func open(_ server: URL, _ socket: URL, token: String) async throws -> Parley {
        let folder = FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".parley-example")
        let parley = try await Parley.open(
            .init(server: server, socket: socket, directory: folder, token: { token }))
        await parley.connect()
        return parley
    }
    // end

    // snippet: connection
    static func showConnection(of parley: Parley) async {
        for await state in parley.connection {
            print(state == .online ? "— online" : "— offline: what you write is sent later")
        }
    }
    // end

    // snippet: timeline
    static func showMessages(of talk: Talk) async {
        for await update in talk.timeline(.newest(20)) {
            let changed = Set(update.difference.inserted + update.difference.updated)
            for row in update.rows where changed.contains(row.id) {
                let text = row.message.previewText ?? "Message deleted"
                switch row.state {
                case .stored: print("\(row.message.senderId): \(text)")
                case .sending: print("…  \(text)")
                case .failed(let problem): print("!  \(text) (\(problem.title))")
                }
            }
        }
    }
    // end

    // snippet: receipts
    static func showReceipts(of talk: Talk) async {
        for await update in talk.receipts {
            guard let last = update.lastSent, let receipts = update.messages[last] else { continue }
            if receipts.status == .read { print("   Read") }
            if receipts.status == .delivered { print("   Delivered") }
        }
    }
    // end

    // snippet: refusals
    static func showRefusals(of parley: Parley) async {
        for await refused in parley.refusedWrites {
            print("!  not possible: \(refused.action): \(refused.problem.title)")
        }
    }
    // end

    // snippet: send
    static func sendLines(to talk: Talk) async throws {
        while let line = readLine() {
            if !line.isEmpty { try await talk.send(line) }
        }
    }
    // end
}
