import Bytes
import JSON
import Models
import Wire

/// A conversation told as records of an import: what its rows say in, lines out.
///
/// An import makes of the lines what they came from, so the lines of that are the same again. It follows that the story
/// knows what an import makes of each: who is a member then and in which role, who follows the last owner, and what it
/// would take for a repetition.
///
/// To a reader the story is told from their first stay on, as it was then. What went on while they were away is told when
/// they come back, by what is different.
struct ExportStory {
    /// Changes remembered of one time, beyond which the next one is told a millisecond later.
    private static let changesPerTime = 4_096

    private struct Member: Equatable {
        /// Among members of the same order, names decide.
        let order: Int
        var role: MemberRole
    }

    /// What may happen once at a time: an import takes the second one for a repetition.
    private enum Key: Hashable {
        case member(ChangeKind, UserID)
        case title(String)

        init?(_ record: ImportRecord) {
            switch record {
            case .member(let change): self = .member(change.kind, change.user)
            case .title(let title): self = .title(title.title)
            default: return nil
            }
        }
    }

    /// Who is in the conversation, in which role, and how it is called.
    private struct Room {
        var members: [UserID: Member] = [:]
        var title = ""
        private var lastOrder = 0

        init() {}

        init(_ opening: ImportRecord.Conversation) {
            title = opening.title
            for user in opening.members {
                let isOwner = opening.kind == .direct || user == opening.members[0]
                members[user] = Member(order: 0, role: isOwner ? .owner : .member)
            }
        }

        mutating func apply(_ record: ImportRecord) {
            switch record {
            case .title(let record): title = record.title
            case .member(let change): apply(change)
            default: break
            }
        }

        private mutating func apply(_ change: ImportRecord.MemberChange) {
            switch change.kind {
            case .memberAdded:
                lastOrder += 1
                members[change.user] = Member(order: lastOrder, role: .member)
            case .memberRemoved: members[change.user] = nil
            default:
                guard let role = members[change.user]?.role else { return }
                members[change.user]?.role = role == .owner ? .member : .owner
            }
        }

        /// Who becomes an owner when a user goes: where that is the last one, the longest-standing member.
        func nextOwner(of leaver: UserID) -> UserID? {
            guard members[leaver]?.role == .owner else { return nil }
            var nextOwner: (user: UserID, member: Member)?
            for (user, member) in members where user != leaver {
                guard member.role != .owner else { return nil }
                if let best = nextOwner, (best.member.order, best.user.name) < (member.order, user.name) { continue }
                nextOwner = (user, member)
            }
            return nextOwner?.user
        }

        /// The owner whose name comes first, or the member where nobody is an owner.
        var first: UserID? {
            let owners = members.filter { $0.value.role == .owner }
            return (owners.isEmpty ? members : owners).keys.min { $0.name < $1.name }
        }

        var hasOwner: Bool { members.contains { $0.value.role == .owner } }

        /// The members that meet a condition, by their names. Only these are sorted: there may be thousands of others.
        func names(where condition: (UserID, Member) -> Bool) -> [UserID] {
            members.filter { condition($0.key, $0.value) }.keys.sorted { $0.name < $1.name }
        }
    }

    private let conversation: ConversationID
    private let head: ExportHead
    private let reader: UserID?

    /// As it was, whether the reader saw it or not; of no interest where everything is told.
    private var actual: Room
    /// As an import has it after what is told.
    private var told = Room()
    /// A removal of the last owner, which waits for what says who follows.
    private var removal: ImportRecord.MemberChange?

    /// A receipt, which waits for one at the same time that says more.
    private var receipt: ImportReceipt?

    /// The time of the last record, and what happened at it.
    private var reached: Timestamp
    private var keys: Set<Key> = []

    private(set) var recordCount = 0

    /// - Parameter reader: nil tells everything.
    init(_ conversation: ConversationID, _ head: ExportHead, reader: UserID?) {
        self.conversation = conversation
        self.head = head
        self.reader = reader
        actual = Room(head.opening)
        reached = head.opening.createdAt
    }

    // MARK: Entry points

    /// Tells how it began, if the reader was there.
    mutating func begin(_ buffer: inout ByteBuffer) {
        if reader == nil || head.stays.first?.lowerBound == 1 { open(head.opening, &buffer) }
    }

    /// Takes what happened while the reader was there, or a tapback or a vote to what they see.
    mutating func take(_ record: ImportRecord, _ buffer: inout ByteBuffer) {
        if reader != nil { actual.apply(record) }
        if let removal {
            self.removal = nil
            if finish(removal, before: record, &buffer) { return }
        }
        switch record {
        case .member(let change) where change.kind == .memberAdded && change.user == reader: comeBack(record, &buffer)
        case .member(let change) where change.kind == .memberRemoved && told.nextOwner(of: change.user) != nil:
            if change.user != reader { return removal = change }
            tell([record], &buffer)
            promoteHeir(of: change.user)
            told.apply(record)
        // Of somebody who was there only while the reader was away.
        case .tapback(let tapback) where told.members[tapback.user] == nil: break
        case .vote(let vote) where told.members[vote.user] == nil: break
        case .pollClosed(var closing) where closing.actor.map { told.members[$0] == nil } ?? false:
            closing.actor = told.first
            tell([.pollClosed(closing)], &buffer)
        default:
            tell([record], &buffer)
            told.apply(record)
        }
    }

    /// Takes what happened while the reader was away.
    mutating func pass(_ record: ImportRecord) { actual.apply(record) }

    /// Takes an advance of a user, by user and time, behind everything else. Of those at one time the last one is told.
    mutating func take(_ receipt: ImportReceipt, _ buffer: inout ByteBuffer) {
        finishRemoval(&buffer)
        var receipt = receipt
        if let waiting = self.receipt {
            if waiting.user == receipt.user { receipt.at = max(receipt.at, waiting.at) }
            if (waiting.user, waiting.kind, waiting.at) != (receipt.user, receipt.kind, receipt.at) {
                tellReceipt(&buffer)
            }
        }
        self.receipt = receipt
    }

    mutating func end(_ buffer: inout ByteBuffer) {
        finishRemoval(&buffer)
        tellReceipt(&buffer)
        write(.end, at: reached, &buffer)
    }

    // MARK: The last owner

    /// Tells of a removal and of who follows. An import finds that out itself: where it would find another one, the role
    /// goes on before the removal.
    /// - Returns: whether the record behind the removal is told with it.
    private mutating func finish(
        _ removal: ImportRecord.MemberChange, before next: ImportRecord?, _ buffer: inout ByteBuffer
    ) -> Bool {
        let nextOwner = told.nextOwner(of: removal.user)
        if case .member(let change)? = next, change.kind == .memberChanged, change.at == removal.at,
            change.user != nextOwner
        {
            for record in [ImportRecord.member(change), .member(removal)] {
                tell([record], &buffer)
                told.apply(record)
            }
            return true
        }
        tell([.member(removal)], &buffer)
        promoteHeir(of: removal.user)
        told.apply(.member(removal))
        guard let nextOwner else { return false }
        // At the same time, whatever else happened at it: an import has done it already.
        let promotion = ImportRecord.MemberChange(.memberChanged, of: nextOwner, at: reached, by: removal.actor)
        keys.insert(.member(.memberChanged, nextOwner))
        write(.member(promotion), at: reached, &buffer)
        if case .member(let change)? = next, change.kind == .memberChanged, change.at == removal.at { return true }
        return false
    }

    private mutating func finishRemoval(_ buffer: inout ByteBuffer) {
        guard let removal else { return }
        self.removal = nil
        _ = finish(removal, before: nil, &buffer)
    }

    private mutating func promoteHeir(of leaver: UserID) {
        if let nextOwner = told.nextOwner(of: leaver) { told.members[nextOwner]?.role = .owner }
    }

    // MARK: Coming and coming back

    private mutating func open(_ opening: ImportRecord.Conversation, _ buffer: inout ByteBuffer) {
        told = Room(opening)
        write(.conversation(opening), at: opening.createdAt, &buffer)
    }

    /// Tells that the reader came, after what is not as they know it.
    private mutating func comeBack(_ record: ImportRecord, _ buffer: inout ByteBuffer) {
        var present = actual
        if let reader { present.members[reader] = nil }
        if told.members.isEmpty { openLate(present, &buffer) }
        let group = differences(present, at: record.time ?? reached) + [record]
        tell(group, &buffer)
        for record in group { told.apply(record) }
    }

    /// Opens with those who were there when the reader came first.
    private mutating func openLate(_ present: Room, _ buffer: inout ByteBuffer) {
        guard let first = present.first else { return }
        let others = present.names { user, _ in user != first }
        open(
            ImportRecord.Conversation(
                kind: head.opening.kind, createdAt: head.opening.createdAt, title: present.title,
                members: [first] + others.prefix(ContractLimits.membersPerRequest - 1)), &buffer)
    }

    /// What makes a room of what was told that is as the present one. All of it is told as done by one who was there, an
    /// owner, so that none of it needs a next owner, and there never are more members than there may be.
    private func differences(_ present: Room, at time: Timestamp) -> [ImportRecord] {
        guard let actor = told.first else { return [] }
        func change(_ kind: ChangeKind, _ user: UserID) -> ImportRecord {
            .member(ImportRecord.MemberChange(kind, of: user, at: time, by: actor))
        }
        let gone = told.names { user, _ in present.members[user] == nil }
        let added = present.names { user, _ in told.members[user] == nil }
        let roles = present.names { user, member in member.role != told.members[user]?.role ?? .member }
        var records = gone.filter { $0 != actor }.map { change(.memberRemoved, $0) }
        records += added.map { change(.memberAdded, $0) }
        records += (roles.filter { $0 != actor } + roles.filter { $0 == actor }).map { change(.memberChanged, $0) }
        if present.title != told.title { records.append(.title(.init(present.title, at: time, by: actor))) }
        guard gone.contains(actor) else { return records }
        // Where nobody is an owner any more, nobody is to follow.
        if !present.hasOwner, told.members[actor]?.role == .owner { records.append(change(.memberChanged, actor)) }
        return records + [change(.memberRemoved, actor)]
    }

    // MARK: Lines

    /// Writes records of one time, which is that of the last one, unless something would happen twice at it.
    private mutating func tell(_ records: [ImportRecord], _ buffer: inout ByteBuffer) {
        guard let time = records.last?.time else { return }
        let news = records.compactMap(Key.init)
        if time > reached {
            reached = time
            keys.removeAll()
        } else if !keys.isDisjoint(with: news) || !news.isEmpty && keys.count >= Self.changesPerTime {
            reached = Timestamp(milliseconds: reached.milliseconds + 1)
            keys.removeAll()
        }
        keys.formUnion(news)
        for record in records { write(record, at: reached, &buffer) }
    }

    private mutating func tellReceipt(_ buffer: inout ByteBuffer) {
        guard let receipt else { return }
        self.receipt = nil
        recordCount += 1
        buffer.append(receipt, of: conversation)
    }

    private mutating func write(_ record: ImportRecord, at time: Timestamp, _ buffer: inout ByteBuffer) {
        recordCount += 1
        buffer.append(record, of: conversation, at: time)
    }
}

extension ByteBuffer {
    /// Appends a line of an export. The order of the fields is part of its form.
    fileprivate mutating func append(_ record: ImportRecord, of conversation: ConversationID, at time: Timestamp) {
        beginObject()
        switch record {
        case .conversation(let record):
            append(key: "type", json: "conversation")
            append(key: "id", json: conversation)
            append(key: "kind", json: record.kind.name)
            append(key: "members")
            beginArray()
            for member in record.members { append(element: member) }
            endArray()
            if !record.title.isEmpty { append(key: "title", json: record.title) }
            append(key: "createdAt", json: time)
        case .message(let record):
            begin("message", conversation)
            append(record, at: time)
        case .tapback(let record):
            begin("tapback", conversation)
            append(key: "messageId", json: record.message)
            append(key: "userId", json: record.user)
            append(key: "kind", json: record.kind)
            append(key: "at", json: time)
        case .vote(let record):
            begin("vote", conversation)
            append(key: "messageId", json: record.message)
            append(key: "userId", json: record.user)
            append(key: "options")
            beginArray()
            for position in record.options.positions { append(element: position) }
            endArray()
            append(key: "at", json: time)
        case .pollClosed(let record):
            begin("pollClosed", conversation)
            append(key: "messageId", json: record.message)
            append(key: "at", json: time)
            append(key: "actorId", json: record.actor)
        case .member(let record):
            begin("member", conversation)
            append(key: "userId", json: record.user)
            append(key: "change", json: record.kind.importName)
            append(key: "at", json: time)
            append(key: "actorId", json: record.actor)
        case .title(let record):
            begin("renamed", conversation)
            append(key: "title", json: record.title)
            append(key: "at", json: time)
            append(key: "actorId", json: record.actor)
        case .end: begin("end", conversation)
        }
        endObject()
        append("\n")
    }

    fileprivate mutating func append(_ receipt: ImportReceipt, of conversation: ConversationID) {
        beginObject()
        begin("receipt", conversation)
        append(key: "userId", json: receipt.user)
        append(key: "kind", json: receipt.kind == .read ? "read" : "delivered" as StaticString)
        append(key: "throughMessageId", json: receipt.through)
        append(key: "at", json: receipt.at)
        endObject()
        append("\n")
    }

    private mutating func begin(_ type: StaticString, _ conversation: ConversationID) {
        append(key: "type", json: type)
        append(key: "conversationId", json: conversation)
    }

    private mutating func append(_ message: ImportRecord.Message, at time: Timestamp) {
        append(key: "id", json: message.id)
        append(key: "senderId", json: message.sender)
        let key: StaticString = message.isSealed ? "sealed" : "text"
        if let text = message.texts.last, !text.text.isEmpty { append(key: key, utf8: text.text) }
        if let poll = message.poll { append(poll) }
        append(key: "replyTo", json: message.replyTo)
        if !message.attachments.isEmpty { append(key: "attachments", encoded: message.attachments) }
        if !message.extra.isEmpty { append(key: "extra", encoded: message.extra) }
        if let forwarded = message.forwarded {
            append(key: "forwarded")
            beginObject()
            append(key: "userId", json: forwarded.userId)
            append(key: "sentAt", json: forwarded.sentAt)
            endObject()
        }
        append(key: "createdAt", json: time)
        if message.texts.count > 1 {
            append(key: "revisions")
            beginArray()
            for text in message.texts {
                beginElement()
                beginObject()
                append(key: key, utf8: text.text)
                append(key: "at", json: max(text.at, time))
                endObject()
            }
            endArray()
        }
        append(key: "deletedAt", json: message.deletedAt.map { max($0, time) })
    }

    private mutating func append(_ poll: NewPoll) {
        append(key: "poll")
        beginObject()
        append(key: "options")
        beginArray()
        for option in poll.options { append(element: option) }
        endArray()
        if poll.isMultiple { append(key: "multiple", json: true) }
        endObject()
    }
}

extension ChangeKind {
    fileprivate var importName: StaticString {
        switch self {
        case .memberAdded: "added"
        case .memberRemoved: "removed"
        default: "role"
        }
    }
}
