import Models
import ParleyStorage

/// The format `chatdb`: the database of Apple's Messages.
///
/// Conversations come one after the other. The order of each is SQLite's to make, so what is kept of a conversation is
/// which of its rows are messages, whatever their texts.
package struct ChatArchive: ArchiveReader, Sendable {
    private let path: String
    private let me: UserID
    private let now: Timestamp

    package init(path: String, me: UserID, now: Timestamp) {
        self.path = path
        self.me = me
        self.now = now
    }

    package func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        let database = try ChatDatabase(path: path)
        return try database.snapshot {
            var report = ArchiveReport()
            let cursor = ChatCursor(
                rows: try database.sqlite.first("SELECT count(*) FROM message") { $0.integer(0) } ?? 0)
            let people = try ChatPeople(database, me: me, &report)
            for conversation in try ChatJoin.conversations(database, people) {
                report.note(.joinedChats, conversation.chats.count - 1)
                var reader = try ChatConversationReader(database, people, conversation, cursor, now: now, report)
                try reader.read(receive)
                report = reader.report
            }
            try countTheRest(database, &report)
            return report
        }
    }

    /// The rows that no conversation has.
    private func countTheRest(_ database: ChatDatabase, _ report: inout ArchiveReport) throws {
        func count(_ condition: String) throws -> Int {
            Int(try database.sqlite.first("SELECT count(*) FROM message \(condition)") { $0.integer(0) } ?? 0)
        }
        let homeless = """
            WHERE ROWID NOT IN (
                SELECT message_id FROM chat_message_join
                WHERE chat_id IN (SELECT ROWID FROM chat) AND message_id IS NOT NULL)
            """
        let recoverable =
            database.has("chat_recoverable_message_join")
            ? try count("\(homeless) AND ROWID IN (SELECT message_id FROM chat_recoverable_message_join)") : 0
        let others = try count(homeless) - recoverable
        report.count(.recoverable, recoverable)
        report.count(.withoutConversation, others)
        report.countRows(recoverable + others)
        report.note(.sharedRows, (report.rows ?? 0) - (try count("")))
    }
}

/// Where the reading of a `chat.db` is.
final class ChatCursor {
    private let rows: Int64
    private var rowsRead: Int64 = 0
    private(set) var place = SourcePlace.chats([])

    init(rows: Int64) { self.rows = rows }

    func enter(_ conversation: ChatConversation) { place = .chats(conversation.chats) }

    func readRow() { rowsRead += 1 }

    func stand(at row: Int64) { place = .row(row) }

    /// Rows that are in several conversations are read in each.
    var share: Double { rows == 0 ? 1 : min(1, Double(rowsRead) / Double(rows)) }
}
