import JSON
import Models

/// The format `irc`: logs of channels, a conversation a line. Each becomes a group in which every sender is from the
/// beginning, because a log does not say who reads.
package struct IRCArchive: ArchiveReader, Sendable {
    private let file: LineFile
    private let now: Timestamp

    package init(path: String, now: Timestamp) {
        file = LineFile(path: path)
        self.now = now
    }

    package func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport {
        var report = ArchiveReport()
        var names: Set<String> = []
        try file.read { line in
            let conversation = try Self.conversation(line.bytes)
            guard names.insert(conversation.name).inserted else {
                throw ArchiveError("conversation: another one has this name")
            }
            guard !conversation.messages.isEmpty else { return report.note(.emptyChats, 1, conversation.name) }
            var reader = try IRCConversationReader(conversation, line, now: now)
            try reader.read(receive, &report)
        }
        return report
    }

    private static func conversation(_ line: ArraySlice<UInt8>) throws -> IRCConversation {
        do {
            return try line.withUnsafeBytes { try IRCConversation(line: $0) }
        } catch let error as JSONError {
            throw ArchiveError("\(error)")
        }
    }
}

/// Makes the records of one conversation.
private struct IRCConversationReader {
    private let source: IRCConversation
    private let line: LineFile.Line
    private let now: Timestamp
    private let id: ConversationID
    private var clock: IRCClock
    private var members: Set<UserID> = []

    init(_ source: IRCConversation, _ line: LineFile.Line, now: Timestamp) throws {
        guard let day = IRCClock.day(in: source.name) else {
            throw ArchiveError("conversation: its name must have its day, as YYYY-MM-DD")
        }
        self.source = source
        self.line = line
        self.now = now
        id = ArchiveID.irc(source.name)
        clock = IRCClock(day: day, shown: source.messages.compactMap(\.minute))
    }

    mutating func read(_ receive: (SourceRecord) throws -> Void, _ report: inout ArchiveReport) throws {
        report.countRows(source.messages.count)
        try receive(placed(opening(&report), .line(line.number)))
        for message in source.messages {
            let place = SourcePlace.message(message.number, line: line.number)
            for record in records(of: message, &report) { try receive(placed(record, place)) }
            report.count(.message)
        }
        try receive(placed(.end(.init(conversationId: id)), .line(line.number)))
    }

    private func placed(_ record: ImportRecord, _ place: SourcePlace) -> SourceRecord {
        SourceRecord(record, at: place, share: line.share)
    }

    /// As many of the senders as one request may name.
    private mutating func opening(_ report: inout ArchiveReport) -> ImportRecord {
        var first: [UserID] = []
        var known: Set<UserID> = []
        for name in source.messages.lazy.map(\.sender) {
            let user = Self.user(name)
            guard known.insert(user).inserted else { continue }
            if UserID("irc:\(name)") == nil { report.note(.madeUser, 1, name) }
            if first.count < ContractLimits.membersPerRequest { first.append(user) }
        }
        members = Set(first)
        return .conversation(
            .init(
                id: id, kind: .known(.group), members: first, title: MessageText.title(source.name),
                createdAt: min(clock.time, now)))
    }

    /// The message, behind the addition of a sender whom the opening could not name.
    private mutating func records(
        of message: IRCConversation.Message, _ report: inout ArchiveReport
    ) -> [ImportRecord] {
        let isOutOfOrder = message.minute.map { !clock.advance(to: $0) } ?? true
        report.note(.undated, isOutOfOrder ? 1 : 0, "\(source.name) \(message.number)")
        report.note(.future, clock.time > now ? 1 : 0, source.name)
        let sender = Self.user(message.sender)
        let at = min(clock.time, now)
        var records: [ImportRecord] = []
        if members.insert(sender).inserted {
            report.note(.inferredMember, 1, sender.name)
            records.append(
                .member(.init(conversationId: id, userId: sender, change: .added, at: at, actorId: nil)))
        }
        return records + texts(of: message, &report).map { .message(self.message($0, message, sender, at)) }
    }

    /// Each text with the number of its piece.
    private func texts(
        of message: IRCConversation.Message, _ report: inout ArchiveReport
    ) -> [(number: Int, text: String)] {
        report.note(.empty, MessageText.isBlank(message.text) ? 1 : 0, "\(source.name) \(message.number)")
        let pieces = MessageText.divided(MessageText.isBlank(message.text) ? "[Empty message]" : message.text)
        report.note(.split, pieces.count > 1 ? 1 : 0, "\(source.name) \(message.number)")
        return pieces.enumerated().map { ($0, $1) }
    }

    private func message(
        _ piece: (number: Int, text: String), _ message: IRCConversation.Message, _ sender: UserID, _ at: Timestamp
    ) -> ImportRecord.Message {
        let parent = piece.number == 0 ? message.parent.map { source.messages[$0].number } : nil
        return ImportRecord.Message(
            conversationId: id, id: ArchiveID.irc(source.name, message.number, piece: piece.number), senderId: sender,
            text: piece.text, replyTo: parent.map { ArchiveID.irc(source.name, $0, piece: 0) }, createdAt: at)
    }

    /// As `parley replay` names them.
    private static func user(_ name: String) -> UserID { UserID("irc:\(name)") ?? ArchiveID.user("irc:\(name)") }
}

/// The time of a log that has only the day on which it begins and what a clock showed, of 12 or of 24 hours.
struct IRCClock {
    private(set) var time: Timestamp

    private static let minuteMilliseconds: Int64 = 60_000
    /// Minutes. What goes back by no more was written out of order; by more, the clock has begun anew.
    private static let greatestStepBack = 60
    private static let halfDay = 12 * 60

    private let midnight: Timestamp
    private let period: Int
    private var minutes: Int

    /// - Parameter shown: all that the clock showed, in minutes.
    init(day: Timestamp, shown: [Int]) {
        midnight = day
        period = shown.contains { $0 >= Self.halfDay + 60 } ? 2 * Self.halfDay : Self.halfDay
        minutes = shown.first ?? 0
        time = Self.time(day, minutes)
    }

    /// Returns false if the clock went back a little: the time then stays.
    mutating func advance(to minute: Int) -> Bool {
        let ahead = ((minute - minutes) % period + period) % period
        guard ahead <= period - Self.greatestStepBack else { return false }
        minutes += ahead
        time = Self.time(midnight, minutes)
        return true
    }

    private static func time(_ day: Timestamp, _ minutes: Int) -> Timestamp {
        Timestamp(milliseconds: day.milliseconds + Int64(minutes) * minuteMilliseconds)
    }

    /// The first midnight, in UTC, that a text names as `YYYY-MM-DD`.
    static func day(in name: String) -> Timestamp? {
        let bytes = Array(name.utf8)
        return bytes.indices.dropLast(9).lazy
            .map { String(decoding: bytes[$0..<$0 + 10], as: UTF8.self) + "T00:00:00.000Z" }
            .compactMap { Timestamp(rfc3339: $0) }.first
    }
}
