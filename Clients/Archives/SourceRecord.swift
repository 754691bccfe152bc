import JSON
import Models

/// A record of an archive, and where it stands there.
package struct SourceRecord {
    private enum Content {
        case record(ImportRecord)
        /// As the archive has it, so that what this version does not know is passed on, too.
        case line([UInt8])
    }

    package let kind: ImportRecord.Kind
    package let conversation: ConversationID
    package private(set) var place: SourcePlace
    /// How much of the archive lies before it, from 0 to 1.
    package private(set) var share: Double
    private let content: Content

    package init(_ record: ImportRecord, at place: SourcePlace, share: Double) {
        kind = record.kind
        conversation = record.conversation
        content = .record(record)
        self.place = place
        self.share = share
    }

    /// Reads of a line what it is about, and nothing more: the server judges the rest.
    package init(line: [UInt8], at place: SourcePlace, share: Double) throws {
        do {
            (kind, conversation) = try line.withUnsafeBytes { try Self.subject($0) }
        } catch let error as JSONError {
            throw ArchiveError("\(error)")
        }
        content = .line(line)
        self.place = place
        self.share = share
    }

    /// The same record as one of a file of several.
    func placed(in file: String, share: Double) -> SourceRecord {
        var placed = self
        placed.place = .file(file, place)
        placed.share = share
        return placed
    }

    package func record(_ coding: RecordLine) throws -> ImportRecord {
        switch content {
        case .record(let record): record
        case .line(let line): try coding.record(line)
        }
    }

    /// As a line of NDJSON, without the line feed.
    package func line(_ coding: RecordLine) throws -> [UInt8] {
        switch content {
        case .record(let record): try coding.bytes(record)
        case .line(let line): line
        }
    }

    private static func subject(_ line: UnsafeRawBufferPointer) throws -> (ImportRecord.Kind, ConversationID) {
        var reader = JSONReader(line)
        var type: String?
        var id, conversation: UnsafeRawBufferPointer?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "type": type = try reader.string()
            case "id": id = try reader.encodedValue()
            case "conversationId": conversation = try reader.encodedValue()
            default: try reader.skip()
            }
        }
        try reader.end()
        guard let type else { throw ArchiveError("type: is missing") }
        guard let kind = ImportRecord.Kind(rawValue: type) else { throw ArchiveError("type: is not valid") }
        let name = kind == .conversation ? "id" : "conversationId"
        guard let subject = kind == .conversation ? id : conversation else {
            throw ArchiveError("\(name): is missing")
        }
        var value = JSONReader(subject)
        guard let uuid = try? value.uuid() else { throw ArchiveError("\(name): is not valid") }
        return (kind, ConversationID(uuid))
    }
}

/// Where a record comes from.
package indirect enum SourcePlace: Hashable, Sendable, CustomStringConvertible {
    case line(Int)
    /// A row of the table `message`.
    case row(Int64)
    /// Chats of a `chat.db`, by their rows.
    case chats([Int64])
    /// A message of a conversation on a line.
    case message(Int64, line: Int)
    case file(String, SourcePlace)

    package var description: String {
        switch self {
        case .line(let number): "line \(number)"
        case .row(let row): "row \(row) of message"
        case .chats(let rows): "row \(rows.map(String.init).joined(separator: ", ")) of chat"
        case .message(let number, let line): "line \(line), message \(number)"
        case .file(let name, let place): "\(name), \(place)"
        }
    }
}

extension ImportRecord {
    package var conversation: ConversationID {
        switch self {
        case .conversation(let record): record.id
        case .message(let record): record.conversationId
        case .tapback(let record): record.conversationId
        case .vote(let record): record.conversationId
        case .pollClosed(let record): record.conversationId
        case .member(let record): record.conversationId
        case .renamed(let record): record.conversationId
        case .receipt(let record): record.conversationId
        case .end(let record): record.conversationId
        }
    }
}
