import Models

/// Reads the archives of one format: hands over their records in the order of an import.
package protocol ArchiveReader {
    /// - Returns: what became of everything that the archive holds.
    func read(_ receive: (SourceRecord) throws -> Void) throws -> ArchiveReport
}

/// The reason why an archive cannot be read.
package struct ArchiveError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// What became of everything in an archive.
package struct ArchiveReport: Sendable {
    /// Each row of messages in the source is counted once, under what became of it.
    package enum Outcome: String, CaseIterable, Sendable {
        case message = "messages"
        case deleted = "messages that were unsent"
        case tapback = "tapbacks"
        case takenBackTapback = "tapbacks that were taken back later"
        case tapbackRemoval = "removals of tapbacks"
        case membership = "members added or removed"
        case renaming = "new titles"
        case unchangedMembership = "left out: changes of members that changed nothing"
        case unknownTapback = "left out: tapbacks to what is no message here"
        case unreadableTapback = "left out: tapbacks of no known kind"
        case recoverable = "left out: messages that were deleted and can be recovered in Messages"
        case withoutConversation = "left out: messages of no conversation"
    }

    /// What is not as it was in the source.
    package enum Note: String, CaseIterable, Sendable {
        case damagedBody = "texts whose attributes could not be read"
        case unreadableBody = "messages whose text could not be read"
        case empty = "messages without any content"
        case attachments = "attachments named as text"
        case missingAttachment = "attachments that the source does not describe"
        case descriptions = "stickers, polls, app messages and events described as text"
        case split = "messages longer than a text may be, continued in further ones"
        case cutRevisions = "edited messages with a text longer than a text may be, whose edits are left out"
        case zeroCharacters = "texts that held the character U+0000"
        case partlyUnsent = "messages of which a part was unsent"
        case unreadableHistory = "messages whose edits could not be read"
        case lostParent = "replies to what is no message here"
        case undated = "messages without a date, or out of order, given that of their predecessor"
        case future = "messages dated in the future, given the date of their predecessor"
        case postponed = "tapbacks dated before their message, given its date"
        case madeMessageID = "messages whose id is derived, because it is no UUID"
        case madeUser = "users whose id is derived, because their address is no user id"
        case unknownSender = "messages of nobody, given the sender unknown"
        case otherAddress = "messages from another address of the same person"
        case inferredMember = "members added or removed because messages or the list of members show it"
        case removedTitle = "titles that were removed, said as text"
        case cutTitle = "titles cut to the longest that is allowed"
        case groupReceipt = "receipts of groups, which do not say whose, given to every member"
        case coveredReceipt = "receipts that an earlier one covers"
        case receiptOfNoMessage = "receipts of rows that are no messages"
        case formerMemberReceipt = "receipts of nobody who was a member then, left out"
        case futureReceipt = "receipts dated in the future, left out"
        case earlyReceipt = "receipts dated before their message, given its date"
        case unreadBefore = "receipts of messages behind others that have none, left out"
        case lateEdit = "edits of texts longer than a message, left out"
        case undatedRead = "own reads without a date, given the last date of their conversation"
        case undatedDelivery = "deliveries without a date, left out"
        case sharedRows = "rows that are in several conversations, taken in each"
        case joinedChats = "chats joined into one conversation"
        case emptyChats = "conversations without messages, left out"
    }

    package private(set) var outcomes: [Outcome: Int] = [:]
    package private(set) var notes: [Note: Int] = [:]
    /// The names of the first that each note is about.
    package private(set) var examples: [Note: [String]] = [:]
    /// The rows of messages in the source; nil where a line is a record.
    package private(set) var rows: Int?

    private static let examplesPerNote = 3

    package init() {}

    package mutating func count(_ outcome: Outcome, _ number: Int = 1) {
        if number > 0 { outcomes[outcome, default: 0] += number }
    }

    mutating func countRows(_ number: Int) { rows = (rows ?? 0) + number }

    package mutating func note(_ note: Note, _ number: Int = 1, _ example: @autoclosure () -> String? = nil) {
        guard number > 0 else { return }
        notes[note, default: 0] += number
        if examples[note, default: []].count < Self.examplesPerNote, let example = example() {
            examples[note, default: []].append(example)
        }
    }

    /// Adds what became of a further archive.
    mutating func add(_ other: ArchiveReport) {
        if let rows = other.rows { countRows(rows) }
        for (outcome, number) in other.outcomes { count(outcome, number) }
        for (note, number) in other.notes {
            notes[note, default: 0] += number
            let named = examples[note, default: []] + other.examples[note, default: []]
            if !named.isEmpty { examples[note] = Array(named.prefix(Self.examplesPerNote)) }
        }
    }

    /// The rows that no outcome counts: zero, unless the reader forgets some.
    package var unaccounted: Int { rows.map { $0 - outcomes.values.reduce(0, +) } ?? 0 }
}
