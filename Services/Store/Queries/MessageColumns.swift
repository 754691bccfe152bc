import Models
import Postgres
import Wire

/// The columns common to all forms of a message: {plain_message} and {whole_message}.
struct MessageColumns: NamedFields {
    let seq: Column<Int64>
    let id: Column<MessageID>
    let changedSeq: Column<Int64>
    let senderId: Column<UserID>
    let kind: Column<MessageKind>
    let body: Column<UnsafeRawBufferPointer?>
    let mentions: Column<UnsafeRawBufferPointer?>
    let sentAt: Column<Timestamp>
    let createdAt: Column<Timestamp>
    let editedAt: Column<Timestamp?>
    let deletedAt: Column<Timestamp?>
    let replyTo: Column<MessageID?>
    let replySeq: Column<Int64>
    let attachments: Column<UnsafeRawBufferPointer?>
    let extra: Column<UnsafeRawBufferPointer?>
    let pinnedSeq: Column<Int64?>
    let pinnedBy: Column<UserID>
    let pinnedAt: Column<Timestamp>
    let isExpired: Column<Bool?>
    let forwardedBy: Column<UserID?>
    let forwardedAt: Column<Timestamp>
}

/// The columns of {plain_message}.
struct PlainMessageColumns: NamedFields {
    let own: MessageColumns
    let hasMore: Column<Bool>
}

/// The columns of {whole_message}.
struct WholeMessageColumns: NamedFields {
    let own: MessageColumns
    let tapbacks: Column<UnsafeRawBufferPointer?>
    let tapbackCounts: Column<UnsafeRawBufferPointer?>
    let poll: Column<UnsafeRawBufferPointer?>
    let event: Column<UnsafeRawBufferPointer?>
}

/// The columns of {message_with_parent}.
struct MessageWithParentColumns: NamedFields {
    let message: WholeMessageColumns
    let parentSenderId: Column<UserID>
    let parentText: Column<UnsafeRawBufferPointer?>
}

extension MessageFields {
    /// Nil if an outer join found no message. Texts live as long as the rows.
    init?(_ row: Row, _ columns: MessageColumns, in conversation: ConversationID) {
        guard !row.isNull(columns.seq) else { return nil }
        self.conversation = conversation
        seq = row[columns.seq]
        id = row[columns.id]
        changeSeq = row[columns.changedSeq]
        sender = row[columns.senderId]
        kind = row[columns.kind]
        text = row[columns.body]
        mentions = row[columns.mentions] ?? UnsafeRawBufferPointer(start: nil, count: 0)
        attachments = row[columns.attachments].map { .stored($0) }
        extra = row[columns.extra]
        pin = row[columns.pinnedSeq].map { Pin(seq: $0, user: row[columns.pinnedBy], at: row[columns.pinnedAt]) }
        sentAt = row[columns.sentAt]
        createdAt = row[columns.createdAt]
        editedAt = row[columns.editedAt]
        deletedAt = row[columns.deletedAt]
        isExpired = row[columns.isExpired] ?? false
        origin = row[columns.forwardedBy].map { Forwarded(userId: $0, sentAt: row[columns.forwardedAt]) }
        parent = row[columns.replyTo].map { Parent(id: $0, seq: row[columns.replySeq]) }
    }

    init?(_ row: Row, _ columns: WholeMessageColumns, in conversation: ConversationID) {
        self.init(row, columns.own, in: conversation)
        tapbacks = row[columns.tapbacks]
        tapbackCounts = row[columns.tapbackCounts]
        poll = row[columns.poll].map { .stored($0) }
        event = row[columns.event]
    }
}

extension MessageFields {
    /// Whether its sender, if that is the reader, sees how far its recipients are.
    func hasReceipts(for reader: UserID) -> Bool { sender == reader && kind != .system }

    /// The same for the message in a row.
    static func hasReceipts(_ row: Row, _ columns: MessageColumns, for reader: UserID) -> Bool {
        row.bytes(columns.senderId).elementsEqual(reader.name.utf8) && row[columns.kind] != .system
    }
}

extension ParentView {
    init(_ row: Row, _ columns: MessageWithParentColumns) {
        self = row[columns.parentText].map { .visible(sender: row[columns.parentSenderId], text: $0) } ?? .unavailable
    }
}
