import Models
import ParleyStorage

/// Makes the record of a message from its row: usually one, several of a text that is too long for one.
struct ChatMessageWriter {
    var message: ImportRecord.Message
    private let database: ChatDatabase
    private let row: ChatRow
    private let now: Timestamp

    init(
        _ database: ChatDatabase, _ row: ChatRow, conversation: ConversationID, sender: UserID, at time: Timestamp,
        now: Timestamp
    ) {
        self.database = database
        self.row = row
        self.now = now
        message = ImportRecord.Message(
            conversationId: conversation, id: ArchiveID.message(row.guid), senderId: sender, createdAt: time)
    }

    mutating func messages(_ report: inout ArchiveReport) throws -> [ImportRecord.Message] {
        if message.id.uuid.description != row.guid.lowercased() { report.note(.madeMessageID, 1, row.guid) }
        let history = history(&report)
        let body = body(&report)
        let isUnsent = row.retractedNanoseconds > 0 || !history.unsentParts.isEmpty
        if isUnsent, body.map({ MessageText.isBlank($0.text) }) ?? true {
            message.deletedAt = deletionTime
            return [message]
        }
        if isUnsent { report.note(.partlyUnsent, 1, row.guid) }
        let text = ChatText(row, body ?? AttributedText(plain: ""), try attachments(), &report)
        return described(text, history, body == nil, &report)
    }

    /// Unsending is noted as an edit, too; some versions note it there alone.
    private var deletionTime: Timestamp {
        let time = AppleTime.timestamp(nanoseconds: max(row.retractedNanoseconds, row.editedNanoseconds))
        return max(time.map { min($0, now) } ?? message.createdAt, message.createdAt)
    }

    private func history(_ report: inout ArchiveReport) -> EditHistory {
        // Messages writes it for links and app messages, too; what matters is there when something was edited.
        guard let summary = row.summary, !summary.isEmpty else { return EditHistory() }
        if let history = EditHistory(summary) { return history }
        if row.editedNanoseconds > 0 { report.note(.unreadableHistory, 1, row.guid) }
        return EditHistory()
    }

    /// The attributed text, else the plain one that older versions store. Nil if there is none.
    private func body(_ report: inout ArchiveReport) -> AttributedText? {
        guard let bytes = row.body, !bytes.isEmpty else { return row.text.map { AttributedText(plain: $0) } }
        if let body = AttributedText(bytes) {
            if !body.isComplete { report.note(.damagedBody, 1, row.guid) }
            return body
        }
        if let text = row.text {
            report.note(.damagedBody, 1, row.guid)
            return AttributedText(plain: text)
        }
        report.note(.unreadableBody, 1, row.guid)
        return nil
    }

    private func attachments() throws -> [ChatText.Attachment] {
        guard database.has("attachment"), database.has("message_attachment_join") else { return [] }
        let columns = [
            "guid", "transfer_name", "filename", "mime_type", "uti", "is_sticker", "emoji_image_short_description",
        ].map { database.column("attachment", $0) }.joined(separator: ", ")
        return try database.sqlite.all(
            """
            SELECT \(columns) FROM message_attachment_join JOIN attachment ON attachment.ROWID = attachment_id
            WHERE message_id = ? ORDER BY attachment.ROWID
            """, row.row
        ) { row in
            let names = [row.text(1), String(row.text(2).split(separator: "/").last ?? ""), row.text(0)]
            let types = [row.text(3), Self.type(uti: row.text(4))]
            return ChatText.Attachment(
                guid: row.text(0), name: names.first { !$0.isEmpty } ?? "", type: types.first { !$0.isEmpty } ?? "",
                isSticker: row.flag(5), description: row.text(6))
        }
    }

    private static func type(uti: String) -> String {
        let kinds = [
            ("image", ["image", "jpeg", "png", "heic", "gif"]), ("video", ["movie", "video", "mpeg-4"]),
            ("audio", ["audio"]),
        ]
        return kinds.first { _, words in words.contains { uti.contains($0) } }.map { "\($0.0)/*" } ?? ""
    }

    // MARK: Texts

    private mutating func described(
        _ text: ChatText, _ history: EditHistory, _ isUnreadable: Bool, _ report: inout ArchiveReport
    ) -> [ImportRecord.Message] {
        var whole = allowed(text.text, &report)
        if MessageText.isBlank(whole) {
            let hasBody = row.body.map { !$0.isEmpty } ?? false
            whole = isUnreadable && hasBody ? "[Unreadable message]" : "[Empty message]"
            report.note(.empty, isUnreadable && hasBody ? 0 : 1, row.guid)
        }
        let pieces = MessageText.divided(whole)
        message.text = pieces[0]
        if pieces.count == 1 { message.revisions = revisions(text, history, &report) }
        report.note(.split, pieces.count > 1 ? 1 : 0, row.guid)
        return [message] + continuations(pieces)
    }

    private func continuations(_ pieces: [String]) -> [ImportRecord.Message] {
        pieces.indices.dropFirst().map { number in
            var further = message
            further.id = ArchiveID.continuation(of: row.guid, number: number)
            further.text = pieces[number]
            further.replyTo = nil
            return further
        }
    }

    private func revisions(
        _ text: ChatText, _ history: EditHistory, _ report: inout ArchiveReport
    ) -> [ImportRecord.Revision]? {
        var revisions = history.revisions(of: text.parts, createdAt: message.createdAt)
        guard !revisions.isEmpty else { return nil }
        for index in revisions.indices {
            let text = allowed(revisions[index].text ?? "", &report)
            revisions[index].text = MessageText.isBlank(text) ? "[Empty message]" : text
            revisions[index].at = min(revisions[index].at, max(now, message.createdAt))
        }
        revisions[revisions.count - 1].text = message.text ?? ""
        guard revisions.allSatisfy({ $0.text?.utf8.count ?? 0 <= ContractLimits.textBytes }) else {
            report.note(.cutRevisions, 1, row.guid)
            return nil
        }
        return revisions
    }

    /// The text without U+0000, which no text may hold.
    private func allowed(_ text: String, _ report: inout ArchiveReport) -> String {
        guard text.utf8.contains(0) else { return text }
        report.note(.zeroCharacters, 1, row.guid)
        return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.value != 0 }))
    }
}
