import Models
import Postgres
import SimulationSupport

// Messages for readers: `HistoryRows`, `HistoryStatement`, `WholeMessages`, `MessageStatement`, `MessageDetails`.
extension Database {
    /// $1 slot · $2 conversation · $3 reader
    func readerStays(_ arguments: Arguments) -> [SimulatedRow] {
        let reader: UserID = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        let hides = !conversation.hidden[reader, default: []].isEmpty
        return conversation.stays[reader, default: []].map { stay in
            [
                SimulatedValue(conversation.lastSeq), SimulatedValue(max(stay.from, stay.cleared + 1)),
                SimulatedValue(stay.through ?? .max), SimulatedValue(hides),
            ]
        }
    }

    /// $1 slot · $2 conversation · $3 pivot · $4 limit
    func messagesBefore(_ arguments: Arguments) -> [SimulatedRow] {
        let (messages, pivot, limit) = side(arguments)
        return messages.filter { $0.seq < pivot }.suffix(limit).reversed().map(MessageColumns.plain)
    }

    func messagesFrom(_ arguments: Arguments) -> [SimulatedRow] {
        let (messages, pivot, limit) = side(arguments)
        return messages.filter { $0.seq >= pivot }.prefix(limit).map(MessageColumns.plain)
    }

    private func side(_ arguments: Arguments) -> (messages: [Tables.Message], pivot: Int64, limit: Int) {
        let limit: Int64 = arguments.value(3)
        return (tables.conversations[arguments.value(1)]?.messages ?? [], arguments.value(2), Int(limit))
    }

    /// $1 slot · $2 conversation · $3 reader · $4 pivot · $5 older · $6 newer
    func history(_ arguments: Arguments) -> [SimulatedRow] {
        let reader: UserID = arguments.value(2)
        let pivot: Int64 = arguments.value(3)
        let older: Int64 = arguments.value(4)
        let newer: Int64 = arguments.value(5)
        guard let conversation = tables.conversations[arguments.value(1)], conversation.stays[reader] != nil else {
            return []
        }
        let shown = conversation.messages.filter { conversation.shows($0, to: reader) }
        let page =
            shown.filter { $0.seq < pivot }.suffix(Int(older)) + shown.filter { $0.seq >= pivot }.prefix(Int(newer))
        let end = conversation.end(for: reader)
        if page.isEmpty { return [MessageColumns.plain(nil) + [SimulatedValue(end)]] }
        return page.map { MessageColumns.plain($0) + [SimulatedValue(end)] }
    }

    /// $1 slot · $2 conversation · $3 reader · $4 positions · $5 as of
    func wholeMessages(_ arguments: Arguments) -> [SimulatedRow] {
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        let reader: UserID = arguments.value(2)
        let seqs: [Int64] = arguments.array(3)
        let position: Int64 = arguments.value(4)
        return conversation.messages.filter { seqs.contains($0.seq) }.map { message in
            MessageColumns.all(message, conversation.parent(of: message, for: reader), asOf: position)
        }
    }

    /// $1 slot · $2 conversation · $3 reader · $4 message. `ofWriter` includes hidden and cleared messages.
    func message(_ arguments: Arguments, ofWriter: Bool) -> [SimulatedRow] {
        guard let found = find(arguments, ofWriter: ofWriter) else { return [] }
        let parent = found.conversation.parent(of: found.message, for: found.reader)
        return [MessageColumns.all(found.message, parent, asOf: found.position)]
    }

    /// As above. Returns the earlier texts, oldest first.
    func revisions(_ arguments: Arguments) -> [SimulatedRow] {
        guard let found = find(arguments, ofWriter: false), let text = found.message.text else { return [] }
        var came: Int64 = 0
        var rows: [SimulatedRow] = []
        for revision in found.message.revisions where came <= found.position {
            rows.append([SimulatedValue(revision.text), SimulatedValue(revision.at), SimulatedValue(false)])
            came = revision.replaced
        }
        if came <= found.position {
            let at = found.message.editedAt ?? found.message.createdAt
            rows.append([SimulatedValue(text), SimulatedValue(at), SimulatedValue(false)])
        }
        return rows
    }

    /// As above · $5 after user · $6 limit
    func tapbacks(_ arguments: Arguments) -> [SimulatedRow] {
        guard let found = find(arguments, ofWriter: false) else { return [] }
        let after: String = arguments.value(4)
        let limit: Int64 = arguments.value(5)
        let shown = found.message.tapbacks.filter { $0.seq <= found.position }
        let counts = SimulatedValue(shown.isEmpty ? "{}" : Tables.Message.countsJSON(shown))
        let page = shown.filter { $0.user.name > after }.sorted { $0.user < $1.user }.prefix(Int(limit))
        if page.isEmpty { return [[null(UserID.self), null(String.self), null(Timestamp.self), counts]] }
        return page.map { [SimulatedValue($0.user), SimulatedValue($0.kind), SimulatedValue($0.at), counts] }
    }

    private struct Found {
        let conversation: Tables.Conversation
        let message: Tables.Message
        let reader: UserID
        /// The last position that the reader may see.
        let position: Int64
    }

    private func find(_ arguments: Arguments, ofWriter: Bool) -> Found? {
        let reader: UserID = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)],
            let message = conversation.message(arguments.value(3)),
            ofWriter
                ? conversation.isVisible(message.seq, to: reader) : conversation.shows(message, to: reader)
        else { return nil }
        let end = conversation.stays[reader]!.last!.through ?? .max
        return Found(conversation: conversation, message: message, reader: reader, position: end)
    }
}

extension Tables.Conversation {
    /// Whether a page of history contains the message.
    func shows(_ message: Tables.Message, to reader: UserID) -> Bool {
        stays[reader]!.contains { $0.shows(message.seq) } && !hidden[reader, default: []].contains(message.seq)
    }

    /// The message being replied to, if the reader can see it.
    func parent(of message: Tables.Message, for reader: UserID) -> Tables.Message? {
        guard let id = message.parent, let parent = self.message(id), parent.deletedAt == nil,
            shows(parent, to: reader)
        else { return nil }
        return parent
    }
}
