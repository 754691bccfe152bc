import Models
import ParleyStorage

/// What is looked at of a row to see whether it has changed: no texts, so that many rows cost little.
struct RowGlance {
    let row: Int64
    let guid: String
    /// A digest of what may change.
    let signature: Int64
    let chats: [Int64]
    let nanoseconds: Int64
    let isFromMe: Bool
    let isDelivered: Bool
    let isRead: Bool
    /// The latest edit or unsending, in milliseconds since 1970; 0 without one.
    let edited: Int64

    var id: UUIDBytes { ArchiveID.message(guid).uuid }

    /// The columns, from `message`.
    static func columns(_ database: ChatDatabase) -> String {
        func column(_ name: String) -> String { database.column("message", name) }
        func date(_ name: String) -> String { AppleTime.nanoseconds(column(name)) }
        func length(_ name: String) -> String { "ifnull(length(\(column(name))), -1)" }
        let attachments =
            database.has("message_attachment_join")
            ? "(SELECT count(*) FROM message_attachment_join a WHERE a.message_id = message.ROWID)" : "0"
        return [
            "message.ROWID", column("guid"),
            "(SELECT group_concat(j.chat_id) FROM chat_message_join j WHERE j.message_id = message.ROWID)",
            date("date"), "ifnull(\(column("is_from_me")), 0)", date("date_delivered"), date("date_read"),
            "ifnull(\(column("is_read")), 0)", date("date_edited"), date("date_retracted"), length("text"),
            length("attributedBody"), length("message_summary_info"), attachments,
        ].joined(separator: ", ")
    }

    init(_ found: Row) {
        row = found.integer(0)
        guid = found.text(1)
        chats = found.text(2).split(separator: ",").compactMap { Int64($0) }
        nanoseconds = found.integer(3)
        isFromMe = found.flag(4)
        isDelivered = found.integer(5) > 0 || found.integer(6) > 0
        isRead = found.integer(6) > 0 || !isFromMe && found.flag(7)
        edited = AppleTime.timestamp(nanoseconds: max(found.integer(8), found.integer(9)))?.milliseconds ?? 0
        signature = Self.digest((5...13).map { found.integer($0) } + [Int64(chats.count)])
    }

    /// FNV-1a, because it has to be the same in every run.
    static func digest(_ values: some Sequence<Int64>) -> Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for value in values {
            withUnsafeBytes(of: value.littleEndian) {
                for byte in $0 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            }
        }
        return Int64(bitPattern: hash)
    }

    static func digest(_ text: String) -> Int64 { digest(text.utf8.lazy.map { Int64($0) }) | 2 }
}
