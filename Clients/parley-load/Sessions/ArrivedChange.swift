import Bytes
import JSON
import Models
import ParleyClient
import Reactor

/// A change as received by a session, with the fields that a run needs.
struct ArrivedChange: Equatable {
    let conversation: ConversationID
    let seq: Int64
    /// The message that it created. Nil for any other change.
    var message: MessageID?
    /// When the message was due, according to its text. Nil when the text is not from a run.
    var due: MonotonicTime?

    init(conversation: ConversationID, seq: Int64) {
        self.conversation = conversation
        self.seq = seq
    }

    /// Reads a `change` frame with a new text, laid out as Parley writes it. Returns nil for any other, to be read by
    /// `init(change:)`.
    ///
    /// The contract fixes no order of fields, so nothing depends on this path: it is only ten times as fast.
    init?(usualFrame frame: UnsafeRawBufferPointer) {
        var scanner = LiteralScanner(frame)
        guard scanner.skip(#"{"type":"change","change":{"conversationId":""#), let conversation = scanner.uuid(),
            scanner.skip(#"","seq":"#), let seq = scanner.decimal(),
            scanner.skip(#","kind":"message.created","at":""#), scanner.skipPastQuote(),
            scanner.skip(#","actorId":""#), scanner.skipPastQuote(),
            scanner.skip(#","message":{"id":""#), let message = scanner.uuid(),
            scanner.skip(#"","conversationId":""#), scanner.uuid() == conversation,
            scanner.skip(#"","seq":"#), scanner.decimal() == seq,
            scanner.skip(#","changeSeq":"#), scanner.decimal() != nil,
            scanner.skip(#","senderId":""#), scanner.skipPastQuote(),
            scanner.skip(#","kind":"text","text":""#)
        else { return nil }
        self.conversation = ConversationID(conversation)
        self.seq = seq
        self.message = MessageID(message)
        due = LoadText.time(of: scanner.rest)
    }

    /// Reads any change from JSON.
    init(change: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(change)
        var conversation: ConversationID?
        var seq: Int64 = 0
        var isCreated = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "conversationId": conversation = try reader.conversationID()
            case "seq": seq = try reader.integer()
            case "kind": isCreated = try reader.slice() == "message.created"
            case "message": try readMessage(&reader, &message, &due)
            default: try reader.skip()
            }
        }
        try reader.end()
        guard let conversation else { throw reader.failure(.expected("conversationId")) }
        self.conversation = conversation
        self.seq = seq
        if !isCreated { (message, due) = (nil, nil) }
    }
}

private func readMessage(
    _ reader: inout JSONReader, _ message: inout MessageID?, _ due: inout MonotonicTime?
) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
        switch key {
        case "id": message = try reader.messageID()
        case "text" where try !reader.consumeNull(): due = LoadText.time(of: try reader.slice().encoded)
        case "text": break
        default: try reader.skip()
        }
    }
}

/// Reads an acknowledgement laid out as Parley writes it. Any other layout is read as JSON.
extension AcknowledgedMessage {
    init?(fast document: UnsafeRawBufferPointer) {
        var scanner = LiteralScanner(document)
        if scanner.skip(#"{"id":""#), let id = scanner.uuid(), scanner.skip(#"","conversationId":""#),
            scanner.uuid() != nil, scanner.skip(#"","seq":"#), let seq = scanner.decimal()
        {
            self.init(id: MessageID(id), seq: seq)
        } else {
            self.init(document: document)
        }
    }
}
