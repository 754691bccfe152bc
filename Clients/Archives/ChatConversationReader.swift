import Models
import ParleyStorage

/// Reads one conversation of a `chat.db` in the order of time.
///
/// Its events are the rows, each at its date, and the receipts of each at theirs. Rows with the same date are in the order
/// in which they came into the file; a row without a date, or with one in the future, has that of the event before.
struct ChatConversationReader {
    typealias Receive = (ImportRecord) throws -> Void

    private enum EventKind: Int64 { case row = 0, delivered, read }

    let database: ChatDatabase
    let people: ChatPeople
    let conversation: ChatConversation
    private let cursor: ChatCursor
    private let now: Timestamp
    private let rowStatement: String
    private let removals: [TapbackKey: ChatReceipts.Place]

    private(set) var report: ArchiveReport
    private var membership: ChatMembership
    private var receipts = ChatReceipts()
    /// The time of the last record.
    private var time = AppleTime.epoch
    private var messages: Set<Int64> = []
    private var deleted: Set<Int64> = []
    private var title: String?
    /// Tapbacks dated before their message, by its row.
    private var waiting: [Int64: [ChatRow]] = [:]
    /// The last message of others that was read, without saying when.
    private var lastRead: (place: ChatReceipts.Place, id: MessageID)?

    /// Who has put which tapback where. One and the same person can have one on each part of a message.
    private struct TapbackKey: Hashable {
        let user: UserID
        let target: String
    }

    init(
        _ database: ChatDatabase, _ people: ChatPeople, _ conversation: ChatConversation, _ cursor: ChatCursor,
        now: Timestamp, _ report: ArchiveReport
    ) throws {
        self.database = database
        self.people = people
        self.conversation = conversation
        self.cursor = cursor
        self.now = now
        self.report = report
        rowStatement = ChatRow.statement(database)
        let scan = try Self.scan(database, people, conversation)
        membership = ChatMembership(
            conversation: conversation, me: people.me, changes: scan.changes, active: scan.active)
        removals = scan.removals
        title = scan.hasTitles ? nil : conversation.title
    }

    mutating func read(_ receive: (SourceRecord) throws -> Void) throws {
        let cursor = cursor
        cursor.enter(conversation)
        try readRecords { record in
            try receive(SourceRecord(record, at: cursor.place, share: cursor.share))
        }
    }

    private mutating func readRecords(_ receive: Receive) throws {
        guard let beginning = try beginning() else { return report.note(.emptyChats, conversation.chats.count) }
        time = beginning
        try open(receive)
        try database.sqlite.rows(events, conversation.chatList) { event in
            let (number, date) = (event.integer(2), event.integer(3))
            cursor.stand(at: number)
            switch EventKind(rawValue: event.integer(1)) {
            case .delivered: try takeReceipt(.delivered, number, nanoseconds: date, receive)
            case .read: try takeReceipt(.read, number, nanoseconds: date, receive)
            case .row, nil:
                cursor.readRow()
                try take(try row(number), receive)
            }
        }
        cursor.enter(conversation)
        try close(receive)
    }

    // MARK: What is asked

    private static func rows(_ database: ChatDatabase) -> String {
        "(SELECT DISTINCT message_id FROM chat_message_join WHERE chat_id IN (SELECT value FROM json_each(?1)))"
    }

    /// Date of the event, kind, row, date of the receipt itself. A receipt never comes before its message.
    private var events: String {
        let date = AppleTime.nanoseconds(database.column("message", "date"))
        func receipts(_ kind: EventKind, _ column: String) -> String {
            let receipt = AppleTime.nanoseconds(database.column("message", column))
            return """
                SELECT max(\(date), \(receipt)), \(kind.rawValue), ROWID, \(receipt) FROM message
                WHERE ROWID IN \(Self.rows(database)) AND \(receipt) > 0
                """
        }
        return """
            SELECT \(date) AS event_date, 0 AS kind, ROWID AS row, 0 FROM message WHERE ROWID IN \(Self.rows(database))
            UNION ALL \(receipts(.delivered, "date_delivered"))
            UNION ALL \(receipts(.read, "date_read"))
            ORDER BY event_date, kind, row
            """
    }

    /// The first date; nil without rows.
    private mutating func beginning() throws -> Timestamp? {
        let date = AppleTime.nanoseconds(database.column("message", "date"))
        let found = try database.sqlite.first(
            "SELECT count(*), min(nullif(\(date), 0)) FROM message WHERE ROWID IN \(Self.rows(database))",
            conversation.chatList, read: { ($0.integer(0), $0.integer(1)) })
        guard let found, found.0 > 0 else { return nil }
        report.countRows(Int(found.0))
        let time = AppleTime.timestamp(nanoseconds: found.1) ?? AppleTime.epoch
        return time <= now ? time : AppleTime.epoch
    }

    private struct Scan {
        var changes: [ChatMembership.Change] = []
        var active: Set<UserID> = []
        var removals: [TapbackKey: ChatReceipts.Place] = [:]
        var hasTitles = false
    }

    /// Reads what has to be known before the first row: it is little of a conversation.
    private static func scan(
        _ database: ChatDatabase, _ people: ChatPeople, _ conversation: ChatConversation
    ) throws -> Scan {
        var scan = Scan()
        let date = AppleTime.nanoseconds(database.column("message", "date"))
        let itemType = database.column("message", "item_type")
        let associated = database.column("message", "associated_message_type")
        let special = try database.sqlite.all(
            """
            SELECT ROWID FROM message WHERE ROWID IN \(rows(database))
            AND (ifnull(\(itemType), 0) IN (1, 2, 3) OR ifnull(\(associated), 0) BETWEEN 3000 AND 3999)
            ORDER BY \(date), ROWID
            """, conversation.chatList, read: { $0.integer(0) })
        let statement = ChatRow.statement(database)
        for number in special {
            guard let row = try database.sqlite.first(statement, number, read: { ChatRow(number, $0) }) else {
                continue
            }
            let sender = sender(of: row, people, conversation)
            switch row.kind {
            case .tapbackRemoval:
                guard let target = row.associatedGUID else { continue }
                scan.removals[TapbackKey(user: sender, target: target)] = row.place
            case .title: scan.hasTitles = true
            case .member, .left: scan.changes += change(row, sender: sender, people).map { [$0] } ?? []
            case .message, .tapback: break
            }
        }
        scan.active = Set(try senders(database, people, conversation))
        return scan
    }

    private static func senders(
        _ database: ChatDatabase, _ people: ChatPeople, _ conversation: ChatConversation
    ) throws -> [UserID] {
        let itemType = database.column("message", "item_type")
        return try database.sqlite.all(
            """
            SELECT DISTINCT \(database.column("message", "handle_id")) FROM message
            WHERE ROWID IN \(rows(database)) AND NOT ifnull(\(database.column("message", "is_from_me")), 0)
            AND ifnull(\(itemType), 0) NOT IN (1, 3)
            """, conversation.chatList, read: { people[$0.integer(0)] ?? ChatPeople.unknown })
    }

    private func row(_ number: Int64) throws -> ChatRow {
        guard let row = try database.sqlite.first(rowStatement, number, read: { ChatRow(number, $0) }) else {
            throw ArchiveError("the row \(number) of messages cannot be read")
        }
        return row
    }

    // MARK: The conversation

    private func open(_ receive: Receive) throws {
        try receive(
            .conversation(
                .init(
                    id: conversation.id, kind: .known(conversation.isGroup ? .group : .direct),
                    members: conversation.isGroup ? membership.initial : [people.me, conversation.peer!],
                    title: conversation.isGroup ? title.map { cut($0) } : nil, createdAt: time)))
    }

    /// Leads to what Messages shows now, and ends the conversation.
    private mutating func close(_ receive: Receive) throws {
        if let lastRead, membership.current.contains(people.me), receipts.move(people.me, .read, to: lastRead.place) {
            report.note(.undatedRead)
            try receive(receipt(people.me, .read, through: lastRead.id, at: time))
        }
        for change in membership.closing(me: people.me) {
            report.note(.inferredMember, 1, change.user.name)
            try self.change(change, actor: nil, receive)
        }
        if conversation.isGroup, let title = conversation.title, cut(title) != self.title.map({ cut($0) }) {
            try receive(.renamed(.init(conversationId: conversation.id, title: cut(title), at: time, actorId: nil)))
        }
        for rows in waiting.values { report.count(.unknownTapback, rows.count) }
        try receive(.end(.init(conversationId: conversation.id)))
    }

    private func cut(_ title: String) -> String { MessageText.cut(title) }

    // MARK: Rows

    private mutating func take(_ row: ChatRow, _ receive: Receive) throws {
        cursor.stand(at: row.row)  // A tapback that waited for its message comes later than its row.
        advance(to: row)
        let sender = sender(of: row)
        switch row.kind {
        case .message: try takeMessage(row, sender, receive)
        case .tapback(let kind): try takeTapback(row, kind, sender, receive)
        case .tapbackRemoval: report.count(.tapbackRemoval)
        case .member, .left:
            guard conversation.isGroup else { return try takeMessage(row, sender, receive) }
            try takeMembership(row, sender, receive)
        case .title:
            guard conversation.isGroup, !MessageText.isBlank(row.groupTitle) else {
                if conversation.isGroup { report.note(.removedTitle) }
                return try takeMessage(row, sender, receive)
            }
            try takeTitle(row, sender, receive)
        }
    }

    private mutating func advance(to row: ChatRow) {
        guard let date = AppleTime.timestamp(nanoseconds: row.nanoseconds) else {
            return report.note(.undated, 1, row.guid)
        }
        guard date <= now else { return report.note(.future, 1, row.guid) }
        time = max(time, date)
    }

    private mutating func sender(of row: ChatRow) -> UserID {
        let sender = Self.sender(of: row, people, conversation)
        if !row.isFromMe, people[row.handle] == nil, conversation.isGroup { report.note(.unknownSender, 1, row.guid) }
        if !row.isFromMe, let user = people[row.handle], user != sender { report.note(.otherAddress, 1, user.name) }
        return sender
    }

    static func sender(
        of row: ChatRow, _ people: ChatPeople, _ conversation: ChatConversation
    ) -> UserID {
        if row.isFromMe { return people.me }
        return conversation.peer ?? people[row.handle] ?? ChatPeople.unknown
    }

    /// Somebody who does something is a member, whether the file says so or not.
    private mutating func admit(_ user: UserID, _ receive: Receive) throws {
        guard conversation.isGroup, !membership.current.contains(user) else { return }
        report.note(.inferredMember, 1, user.name)
        try change(.init(user: user, isAdded: true), actor: nil, receive)
    }

    private mutating func takeMembership(_ row: ChatRow, _ sender: UserID, _ receive: Receive) throws {
        let change = Self.change(row, sender: sender, people)
        guard let change, change.isAdded != membership.current.contains(change.user) else {
            return report.count(.unchangedMembership)
        }
        report.count(.membership)
        try self.change(change, actor: sender == ChatPeople.unknown ? nil : sender, receive)
    }

    static func change(_ row: ChatRow, sender: UserID, _ people: ChatPeople) -> ChatMembership.Change? {
        switch row.kind {
        case .left: .init(user: sender, isAdded: false)
        // Oneself has no handle.
        case .member(let isAdded): .init(user: people[row.otherHandle] ?? people.me, isAdded: isAdded)
        default: nil
        }
    }

    private mutating func change(_ change: ChatMembership.Change, actor: UserID?, _ receive: Receive) throws {
        guard membership.apply(change) else { return }
        try receive(
            .member(
                .init(
                    conversationId: conversation.id, userId: change.user, change: change.isAdded ? .added : .removed,
                    at: time, actorId: actor)))
    }

    private mutating func takeTitle(_ row: ChatRow, _ sender: UserID, _ receive: Receive) throws {
        let title = cut(row.groupTitle)
        if title != row.groupTitle { report.note(.cutTitle, 1, title) }
        self.title = title
        report.count(.renaming)
        try receive(
            .renamed(
                .init(
                    conversationId: conversation.id, title: title, at: time,
                    actorId: sender == ChatPeople.unknown ? nil : sender)))
    }

    // MARK: Messages

    private mutating func takeMessage(_ row: ChatRow, _ sender: UserID, _ receive: Receive) throws {
        try admit(sender, receive)
        var writer = ChatMessageWriter(database, row, conversation: conversation.id, sender: sender, at: time, now: now)
        writer.message.replyTo = try parent(of: row)
        for message in try writer.messages(&report) { try receive(.message(message)) }
        messages.insert(row.row)
        if writer.message.deletedAt != nil { deleted.insert(row.row) }
        report.count(writer.message.deletedAt == nil ? .message : .deleted)
        noteUndatedReceipts(row, writer.message.id)
        for tapback in waiting.removeValue(forKey: row.row) ?? [] {
            report.note(.postponed, 1, tapback.guid)
            try take(tapback, receive)
        }
    }

    /// The message that a reply names: the first of its thread, because Messages stores no other. A sticker and a vote
    /// name what they were put on.
    private mutating func parent(of row: ChatRow) throws -> MessageID? {
        guard let guid = row.threadGUID ?? row.target?.guid, !guid.isEmpty else { return nil }
        guard let parent = try message(guid), messages.contains(parent), !deleted.contains(parent) else {
            report.note(.lostParent, 1, row.guid)
            return nil
        }
        return ArchiveID.message(guid)
    }

    /// The row with this GUID.
    private func message(_ guid: String) throws -> Int64? {
        try database.sqlite.first("SELECT ROWID FROM message WHERE guid = ?", guid) { $0.integer(0) }
    }

    private mutating func noteUndatedReceipts(_ row: ChatRow, _ id: MessageID) {
        if row.isFromMe, row.isDelivered, !row.hasDateDelivered { report.note(.undatedDelivery) }
        if !row.isFromMe, row.isRead, !row.hasDateRead { lastRead = (row.place, id) }
    }

    // MARK: Tapbacks

    private mutating func takeTapback(
        _ row: ChatRow, _ kind: TapbackKind?, _ sender: UserID, _ receive: Receive
    ) throws {
        guard let target = row.target, let associated = row.associatedGUID else { return report.count(.unknownTapback) }
        if let removal = removals[TapbackKey(user: sender, target: associated)], row.place < removal {
            return report.count(.takenBackTapback)
        }
        // A GUID may itself look like a part.
        let (exact, part) = (try message(associated), try message(target.guid))
        guard let number = exact ?? part else { return report.count(.unknownTapback) }
        guard messages.contains(number) else { return try postpone(row, to: number) }
        guard let kind else { return report.count(.unreadableTapback) }
        guard !deleted.contains(number) else { return report.count(.unknownTapback) }
        try admit(sender, receive)
        report.count(.tapback)
        try receive(
            .tapback(
                .init(
                    conversationId: conversation.id,
                    messageId: ArchiveID.message(exact == nil ? target.guid : associated), userId: sender, kind: kind,
                    at: time)))
    }

    /// Keeps a tapback until its message comes, if that comes later in this conversation.
    private mutating func postpone(_ row: ChatRow, to message: Int64) throws {
        let target = try self.row(message)
        let isOfThis = try database.sqlite.first(
            """
            SELECT 1 FROM chat_message_join WHERE message_id = ?2 AND chat_id IN (SELECT value FROM json_each(?1))
            """, conversation.chatList, message, read: { $0.integer(0) })
        guard isOfThis != nil, row.place < target.place else { return report.count(.unknownTapback) }
        waiting[message, default: []].append(row)
    }

    // MARK: Receipts

    private mutating func takeReceipt(
        _ kind: ImportRecord.Receipt.Kind, _ number: Int64, nanoseconds: Int64, _ receive: Receive
    ) throws {
        guard messages.contains(number) else { return report.note(.receiptOfNoMessage) }
        guard let date = AppleTime.timestamp(nanoseconds: nanoseconds), date <= now else {
            return report.note(.futureReceipt)
        }
        let row = try self.row(number)
        let at = self.date(of: row, receivedAt: date)
        time = max(time, at)
        let receivers = receivers(of: row)
        var isNew = false
        for user in receivers where receipts.move(user, kind, to: row.place) {
            isNew = true
            try receive(receipt(user, kind, through: ArchiveID.message(row.guid), at: at))
        }
        if !isNew { report.note(receivers.isEmpty ? .formerMemberReceipt : .coveredReceipt) }
        if isNew, conversation.isGroup, row.isFromMe { report.note(.groupReceipt) }
    }

    /// The date of a receipt: its own, unless its message came later, or has no date that could be compared.
    private mutating func date(of row: ChatRow, receivedAt date: Timestamp) -> Timestamp {
        if let sent = AppleTime.timestamp(nanoseconds: row.nanoseconds), sent <= date { return date }
        if date < time { report.note(.earlyReceipt, 1, row.guid) }
        return max(date, time)
    }

    /// Whose receipt it is: of what one sent, the others'; of what others sent, one's own.
    private func receivers(of row: ChatRow) -> [UserID] {
        guard row.isFromMe else { return membership.current.contains(people.me) ? [people.me] : [] }
        return conversation.peer.map { [$0] } ?? membership.current.subtracting([people.me]).sorted()
    }

    private func receipt(
        _ user: UserID, _ kind: ImportRecord.Receipt.Kind, through message: MessageID, at time: Timestamp
    ) -> ImportRecord {
        .receipt(
            .init(conversationId: conversation.id, userId: user, kind: kind, throughMessageId: message, at: time))
    }
}

extension ChatRow {
    var place: ChatReceipts.Place { ChatReceipts.Place(nanoseconds: nanoseconds, row: row) }
}
