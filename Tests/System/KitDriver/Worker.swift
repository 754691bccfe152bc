import Foundation
import ParleyKit
import Synchronization

/// Does what users do, as fast as a busy group.
struct Worker {
    let parley: Parley
    let conversations: [ConversationID]
    let journal: Journal
    private let latest = Latest()

    init(parley: Parley, conversations: [ConversationID], journal: Journal) {
        self.parley = parley
        self.conversations = conversations
        self.journal = journal
    }

    /// What the timelines show.
    private final class Latest: Sendable {
        let rows = Mutex<[ConversationID: [TimelineRow]]>([:])
    }

    func work() async throws {
        for id in conversations {
            Task { [parley, latest] in
                for await update in parley.conversation(id).timeline(.newest(30)) {
                    latest.rows.withLock { $0[id] = update.rows }
                }
            }
        }
        Task { [parley] in for await refused in parley.refusedWrites { KitDriver.tell("refused: \(refused)") } }
        while true {
            try await act(parley.conversation(conversations.randomElement()!))
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...30)))
        }
    }

    private func act(_ talk: Talk) async throws {
        let rows = latest.rows.withLock { $0[talk.id, default: []] }
        let user = await parley.userId
        let shown = rows.filter { $0.message.kind != .system && !$0.message.deletedForEveryone }
        let own = shown.filter { $0.message.senderId == user }
        for row in own { if case .failed = row.state { return try await discard(row, talk) } }
        switch Int.random(in: 0..<20) {
        case 0..<11: try await send(replyTo: nil, talk)
        case 11: try await send(replyTo: shown.filter { $0.state == .stored }.randomElement()?.id, talk)
        case 12..<15: if let row = own.randomElement() { try await talk.edit(row.id, text: row.edited) }
        case 15..<17: if let row = shown.randomElement() { try await talk.react(row.id, Bool.random() ? .love : nil) }
        case 17: if let row = own.randomElement() { try await delete(row, .everyone, talk) }
        case 18: if Int.random(in: 0..<4) == 0, let row = shown.randomElement() { try await delete(row, .forMe, talk) }
        default:
            if let seq = shown.last(where: { $0.state == .stored })?.message.seq { try await talk.markRead(upTo: seq) }
        }
    }

    private func send(replyTo parent: MessageID?, _ talk: Talk) async throws {
        let number = try journal.nextNumber()
        let id = try await talk.send("number \(number)", replyTo: parent)
        try journal.write("sent \(number) \(talk.id) \(id)")
    }

    private func delete(_ row: TimelineRow, _ scope: Talk.DeletionScope, _ talk: Talk) async throws {
        try journal.write("delete \(row.id)")
        try await talk.delete(row.id, scope)
    }

    private func discard(_ row: TimelineRow, _ talk: Talk) async throws {
        try journal.write("delete \(row.id)")
        try await talk.discard(row.id)
    }
}

extension TimelineRow {
    /// Another text with the same number.
    fileprivate var edited: String { (message.text ?? "") + "!" }
}
