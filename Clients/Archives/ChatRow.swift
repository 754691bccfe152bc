import Models
import ParleyStorage

/// A row of the table `message`: a message, a tapback, or a change of a group.
struct ChatRow {
    let row: Int64
    let guid: String
    let text: String?
    let body: [UInt8]?
    let subject: String?
    let handle: Int64
    let isFromMe: Bool
    let nanoseconds: Int64
    let isRead: Bool
    let isDelivered: Bool
    let hasDateDelivered: Bool
    let hasDateRead: Bool
    let itemType: Int64
    let groupTitle: String
    let groupAction: Int64
    let otherHandle: Int64
    let isSharingStopped: Bool
    let associatedGUID: String?
    let associatedType: Int64
    let associatedEmoji: String?
    let balloon: String?
    let summary: [UInt8]?
    let editedNanoseconds: Int64
    let retractedNanoseconds: Int64
    let threadGUID: String?

    /// The statement that reads the row with this ROWID.
    static func statement(_ database: ChatDatabase) -> String {
        let names = [
            "guid", "text", "attributedBody", "subject", "handle_id", "is_from_me", "date", "is_read", "is_delivered",
            "date_delivered", "date_read", "item_type", "group_title", "group_action_type", "other_handle",
            "share_status",
            "associated_message_guid", "associated_message_type", "associated_message_emoji", "balloon_bundle_id",
            "message_summary_info", "date_edited", "date_retracted", "thread_originator_guid",
        ]
        let dates: Set = ["date", "date_delivered", "date_read", "date_edited", "date_retracted"]
        let columns = names.map { name in
            let column = database.column("message", name)
            return dates.contains(name) ? AppleTime.nanoseconds(column) : column
        }
        return "SELECT \(columns.joined(separator: ", ")) FROM message WHERE ROWID = ?"
    }

    init(_ number: Int64, _ row: Row) {
        self.row = number
        guid = row.text(0)
        text = row.optional(1, row.text)
        body = row.optional(2, row.bytes)
        subject = row.optional(3, row.text)
        handle = row.integer(4)
        isFromMe = row.flag(5)
        nanoseconds = row.integer(6)
        isRead = row.flag(7)
        isDelivered = row.flag(8)
        hasDateDelivered = row.integer(9) > 0
        hasDateRead = row.integer(10) > 0
        itemType = row.integer(11)
        groupTitle = row.text(12)
        groupAction = row.integer(13)
        otherHandle = row.integer(14)
        isSharingStopped = row.flag(15)
        associatedGUID = row.optional(16, row.text)
        associatedType = row.integer(17)
        associatedEmoji = row.optional(18, row.text)
        balloon = row.optional(19, row.text)
        summary = row.optional(20, row.bytes)
        editedNanoseconds = row.integer(21)
        retractedNanoseconds = row.integer(22)
        threadGUID = row.optional(23, row.text)
    }
}

/// What a row of the table `message` is.
enum ChatRowKind {
    case message
    case tapback(TapbackKind?)
    case tapbackRemoval
    case member(isAdded: Bool)
    case left
    case title
}

extension ChatRow {
    /// A tapback's number, and 1000 more for its removal.
    private static let tapbacks: [Int64: TapbackKind] = [
        2000: .love, 2001: .like, 2002: .dislike, 2003: .laugh, 2004: .emphasize, 2005: .question,
    ]
    private static let emojiTapback: Int64 = 2006
    /// A sticker put on a message, as a tapback since macOS 14.
    private static let stickerTapback: Int64 = 2007
    static let sticker: Int64 = 1000
    static let pollVote: Int64 = 4000

    var kind: ChatRowKind {
        switch associatedType {
        case 3000...3999: return .tapbackRemoval
        case Self.emojiTapback: return .tapback(associatedEmoji.flatMap { TapbackKind($0) })
        case Self.stickerTapback: return .message
        case 2000...2999: return .tapback(Self.tapbacks[associatedType])
        default: break
        }
        switch (itemType, groupAction) {
        case (1, 0), (1, 1): return .member(isAdded: groupAction == 0)
        case (2, _): return .title
        case (3, 0): return .left
        default: return .message
        }
    }

    var isSticker: Bool { associatedType == Self.sticker || associatedType == Self.stickerTapback }

    /// The message that a tapback, a sticker or a vote belongs to: `p:0/GUID` names a part of it, `bp:GUID` its balloon.
    var target: (guid: String, part: String)? {
        guard let name = associatedGUID, !name.isEmpty else { return nil }
        if name.hasPrefix("bp:") { return (String(name.dropFirst(3)), "bp") }
        guard name.hasPrefix("p:"), let slash = name.firstIndex(of: "/") else { return (name, "") }
        return (String(name[name.index(after: slash)...]), String(name[..<slash]))
    }
}
