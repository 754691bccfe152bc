import Foundation
import ParleyKit

/// Waits for the end, and says what it is like.
struct Settlement {
    struct Report: Codable {
        var waiting: Int
        var equalPages = 0
        var differentPages = 0
        var unknownPages = 0
    }

    let parley: Parley

    func report(_ conversations: [ConversationID]) async throws -> String {
        Task { [parley] in for await refused in parley.refusedWrites { KitDriver.tell("refused: \(refused)") } }
        for id in conversations { discardFailed(in: id) }
        for await state in parley.connection where state == .online { break }
        for await count in parley.pendingWrites where count == 0 { break }
        for id in conversations { await load(id) }
        var report = Report(waiting: 0)
        for id in conversations { try await compare(id, &report) }
        for await count in parley.pendingWrites {
            report.waiting = count
            break
        }
        return String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
    }

    private func discardFailed(in id: ConversationID) {
        Task { [parley] in
            let talk = parley.conversation(id)
            for await update in talk.timeline() {
                for row in update.rows { if case .failed = row.state { try? await talk.discard(row.id) } }
            }
        }
    }

    /// Looks at everything, so that all of it is in the copy.
    private func load(_ id: ConversationID) async {
        let timeline = parley.conversation(id).timeline(.newest(100))
        for await update in timeline where !update.isLoading {
            if !update.hasMoreBefore { return }
            timeline.extendBackward(by: 100)
        }
    }

    /// The last changes may still be on their way.
    private func compare(_ id: ConversationID, _ report: inout Report) async throws {
        var comparison = CopyComparison()
        for _ in 0..<100 {
            comparison = try await parley.conversation(id).compare()
            if comparison.unknownPages == 0 { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        report.equalPages += comparison.equalPages
        report.differentPages += comparison.differentPages
        report.unknownPages += comparison.unknownPages
    }
}
