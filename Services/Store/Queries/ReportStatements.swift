import Bytes
import JSON
import Models
import Postgres
import Slots
import Wire

/// The reports of users to administrators.
enum ReportStatements {
    /// With each write to reports in the slot, so there are few of them.
    static let forgottenAtOnce = 10

    /// The columns of {report_row}.
    struct Columns: NamedFields {
        let conversationId: Column<ConversationID>
        let id: Column<ReportID>
        let reporterId: Column<UserID?>
        let reason: Column<ReportReason>
        let text: Column<String?>
        let createdAt: Column<Timestamp>
        let messageId: Column<MessageID?>
        let userId: Column<UserID?>
        let senderId: Column<UserID?>
        let messageText: Column<String?>
        let messageAt: Column<Timestamp?>
        let media: Column<String?>
        let messageExtra: Column<String?>
        let messageOptions: Column<String?>
        let action: Column<ReportAction?>
        let note: Column<String?>
        let resolverId: Column<UserID?>
        let resolvedAt: Column<Timestamp?>
    }

    struct Input: NamedFields {
        let key: ConversationInput
        let id: Parameter<ReportID>
    }

    struct ListInput: NamedFields {
        let slot: Parameter<Slot>
        let isOpen: Parameter<Bool>
        let afterAt: Parameter<Timestamp>
        let afterConversation: Parameter<ConversationID>
        let afterId: Parameter<ReportID>
        let limit: Parameter<Int64>
    }

    static let single = PreparedStatement<Input, Columns>("report", PackageResources.report_sql, .store)
    static let list = PreparedStatement<ListInput, Columns>("reports", PackageResources.reports_sql, .store)
    static let columns = SQLNames.store.columns(Columns.self, of: "report_row")

    static let all = [single.untyped, list.untyped]
}

extension Queries {
    /// A report, for whoever made it.
    func report(_ id: ReportID, of head: ConversationQuery) async throws -> [UInt8] {
        let row = try await reportRow(id, in: head.conversation)
        guard row[ReportStatements.columns.reporterId] == head.reader else { throw Problem.unknownReport }
        var buffer = ByteBuffer()
        buffer.append(report: row, isForAdministrators: false)
        return buffer.array
    }

    /// A report, for administrators.
    func report(_ query: ReportQuery) async throws -> [UInt8] {
        let row = try await reportRow(query.report, in: query.head.conversation)
        var buffer = ByteBuffer()
        buffer.append(report: row, isForAdministrators: true)
        return buffer.array
    }

    private func reportRow(_ id: ReportID, in conversation: ConversationID) async throws -> Row {
        let rows = try await connection.query(ReportStatements.single) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.id, to: id)
        }
        guard let row = rows.first else { throw Problem.unknownReport }
        return row
    }

    /// Those of one slot: `ReportsOfSlot`.
    func reports(_ query: ReportsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(ReportStatements.list) { parameters, input in
            parameters.set(input.slot, to: query.slot)
            parameters.set(input.isOpen, to: query.areOpen)
            parameters.set(input.afterAt, to: query.after.createdAt)
            parameters.set(input.afterConversation, to: query.after.conversation)
            parameters.set(input.afterId, to: query.after.report)
            // One more row shows whether there are more.
            parameters.set(input.limit, to: Int64(query.limit) + 1)
        }
        let columns = ReportStatements.columns
        var reports = ByteBuffer()
        var written = 0
        for row in rows where written < Int(query.limit) {
            guard reports.count < ContractLimits.pageBytes else { break }
            let place = ReportCursor(
                createdAt: row[columns.createdAt], conversation: row[columns.conversationId], report: row[columns.id])
            ReportsOfSlot.append(at: place, to: &reports) { $0.append(report: row, isForAdministrators: true) }
            written += 1
        }
        var buffer = ByteBuffer(capacity: reports.count + 1)
        ReportsOfSlot.writeHead(hasMore: written < rows.count, to: &buffer)
        buffer.append(reports.bytes)
        return buffer.array
    }
}

extension Problem {
    static let unknownReport = Problem(.notFound, "there is no such report")
}

extension ByteBuffer {
    /// `{id, conversationId, messageId?, userId?, reason, text?, createdAt}`, and for administrators
    /// `{reporterId?, message?: {senderId, text?, createdAt, attachmentIds?, extra?}, resolution?: {action, note?, resolvedBy, resolvedAt}}`.
    fileprivate mutating func append(report row: Row, isForAdministrators: Bool) {
        let columns = ReportStatements.columns
        beginObject()
        append(key: "id", json: row[columns.id])
        append(key: "conversationId", json: row[columns.conversationId])
        append(key: "messageId", json: row[columns.messageId])
        append(key: "userId", json: row[columns.userId])
        append(key: "reason", json: row[columns.reason].name)
        append(key: "text", json: row[columns.text])
        append(key: "createdAt", json: row[columns.createdAt])
        if isForAdministrators {
            append(key: "reporterId", json: row[columns.reporterId])
            append(copyIn: row)
            append(resolutionIn: row)
        }
        endObject()
    }

    private mutating func append(copyIn row: Row) {
        let columns = ReportStatements.columns
        guard let sender = row[columns.senderId] else { return }
        append(key: "message")
        beginObject()
        append(key: "senderId", json: sender)
        append(key: "text", json: row[columns.messageText])
        append(key: "createdAt", json: row[columns.messageAt])
        if let media = row[columns.media] {
            append(key: "attachmentIds")
            beginArray()
            for id in media.split(separator: ",") { append(element: String(id)) }
            endArray()
        }
        if let options = row[columns.messageOptions] {
            append(key: "options")
            beginArray()
            for option in options.split(separator: "\n") { append(element: String(option)) }
            endArray()
        }
        if let extra = row[columns.messageExtra] {
            append(key: "extra")
            append(utf8: extra)
        }
        endObject()
    }

    private mutating func append(resolutionIn row: Row) {
        let columns = ReportStatements.columns
        guard let action = row[columns.action] else { return }
        append(key: "resolution")
        beginObject()
        append(key: "action", json: action.name)
        append(key: "note", json: row[columns.note])
        append(key: "resolvedBy", json: row[columns.resolverId])
        append(key: "resolvedAt", json: row[columns.resolvedAt])
        endObject()
    }
}
