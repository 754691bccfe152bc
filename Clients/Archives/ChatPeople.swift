import Models

/// Who the handles of a `chat.db` are: the user of each phone number and mail address.
struct ChatPeople {
    let me: UserID
    private var users: [Int64: UserID] = [:]

    /// The sender of messages that name none.
    static let unknown = UserID("unknown")!

    init(_ database: ChatDatabase, me: UserID, _ report: inout ArchiveReport) throws {
        self.me = me
        var made: Set<String> = []
        for (row, address) in try database.sqlite.all(
            "SELECT ROWID, id FROM handle ORDER BY ROWID", read: { ($0.integer(0), $0.text(1)) })
        {
            users[row] = Self.user(address)
            if UserID(Self.normalized(address)) == nil, made.insert(address).inserted {
                report.note(.madeUser, 1, address)
            }
        }
    }

    subscript(handle: Int64) -> UserID? { users[handle] }

    /// The same address is the same user in whatever service, and however it is written.
    static func user(_ address: String) -> UserID {
        let name = normalized(address)
        return UserID(name) ?? ArchiveID.user(name)
    }

    /// A mail address in lower case, a phone number without what only divides its digits, anything else as it is.
    private static func normalized(_ address: String) -> String {
        if address.contains("@") { return address.lowercased() }
        let isPhone =
            address.unicodeScalars.contains { ("0"..."9").contains($0) }
            && address.unicodeScalars.allSatisfy {
                ("0"..."9").contains($0) || "+-() .\u{A0}".unicodeScalars.contains($0)
            }
        guard isPhone else { return address }
        return String(String.UnicodeScalarView(address.unicodeScalars.filter { ("0"..."9").contains($0) || $0 == "+" }))
    }
}
