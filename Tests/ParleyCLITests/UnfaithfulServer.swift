import Bytes
import Edge
import JSON
import Models
import ParleyDigest
import Reactor

@testable import ParleyClient

/// A small in-memory server of the contract that breaks one of its promises on demand. It shows that the client
/// survives what it must survive and detects what it must detect. Faithful servers are tested with the real services.
@Reactor
final class UnfaithfulServer: HTTPHandler, WebSocketHandler {
    enum Fault: CaseIterable, Sendable {
        // Faults that a client must survive.
        case none, refusesNow, closesSockets, reloads
        // Faults that a client must detect.
        case altersText, losesChange, repeatsChange, losesMessage, doublesMessage, forgetsParent, refusesForGood,
            forgetsReading, acknowledgesElsewhere, digestsAnotherState, digestsOtherChanges

        var isSurvivable: Bool { [.none, .refusesNow, .closesSockets, .reloads].contains(self) }
    }

    private struct Stored {
        let id: MessageID
        let seq: Int64
        let text: String
        let parent: MessageID?
        let json: [UInt8]
    }

    /// The body of a send.
    private struct Sent {
        var id: MessageID?
        var text = ""
        var replyTo: MessageID?

        init(_ body: UnsafeRawBufferPointer) throws(JSONError) {
            var reader = JSONReader(body)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "id": id = try reader.messageID()
                case "text": text = try reader.string()
                case "replyTo": replyTo = try reader.messageID()
                default: try reader.skip()
                }
            }
            try reader.end()
        }
    }

    private final class Session {
        var cursors: [ConversationID: Int64] = [:]
    }

    private let fault: Fault
    private var server: Server!
    private(set) var port = 0
    private var histories: [ConversationID: [Stored]] = [:]
    private var sockets: [ObjectIdentifier: (socket: WebSocket, session: Session)] = [:]
    private var receipts: [String: [ConversationID: Int64]] = [:]
    private var requests = 0
    private var hasReloaded: Set<ObjectIdentifier> = []

    init(_ fault: Fault) throws {
        self.fault = fault
        server = Server(self, webSockets: self)
        port = try server.listen(at: "127.0.0.1:0")
    }

    func stop() { server.drain(deadline: .zero) {} }

    // MARK: HTTP

    func admit(_: Request) -> RequestAdmission { .admitted(bodyBytes: 1 << 20) }

    func handle(_ request: Request, _ responder: Responder) {
        requests += 1
        let path = String(decoding: request.target.path, as: UTF8.self).split(separator: "/").map(String.init)
        if fault == .refusesNow, requests % 3 == 0 {
            return responder.respond(503, headers: [.retryAfter(seconds: 0)])
        }
        guard path.count == 4, let uuid = UUIDBytes(path[2]) else { return create(responder) }
        let conversation = ConversationID(uuid)
        switch (request.method, path[3]) {
        case (.post, _): accept(request, conversation, responder)
        case (_, "members"): listMembers(conversation, responder)
        case (_, "digest"): digest(conversation, responder)
        default: page(path[3], conversation, request, responder)
        }
    }

    /// Creates a direct conversation, with the fields that the client reads.
    private func create(_ responder: Responder) {
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: "id", json: UUIDBytes(hashOf: "conversation \(requests)"))
        body.append(key: "lastSeq", json: 1)
        body.endObject()
        responder.respond(201, body: body)
    }

    private func accept(_ request: Request, _ conversation: ConversationID, _ responder: Responder) {
        guard let message = try? Sent(request.body), let id = message.id else { return responder.respond(400) }
        if let known = histories[conversation]?.first(where: { $0.id == id }) { return respond(known, 200, responder) }
        let count = histories[conversation]?.count ?? 0
        if fault == .refusesForGood, count == 3 { return responder.respond(403) }
        let stored = store(message, id, conversation, seq: Int64(count + 2))
        announce(stored, conversation, isFirst: true)
        if fault == .repeatsChange, count == 4 { announce(stored, conversation, isFirst: false) }
        if fault == .acknowledgesElsewhere, count == 3 {
            let elsewhere = #"{"id":"\#(id)","seq":7777}"#
            return Array(elsewhere.utf8).withUnsafeBytes { responder.respond(201, body: $0) }
        }
        respond(stored, 201, responder)
    }

    private func respond(_ stored: Stored, _ status: Int, _ responder: Responder) {
        stored.json.withUnsafeBytes { responder.respond(status, body: $0) }
    }

    private func store(_ message: Sent, _ id: MessageID, _ conversation: ConversationID, seq: Int64) -> Stored {
        let isVictim = seq == 5
        var json = ByteBuffer()
        json.beginObject()
        json.append(key: "id", json: id)
        json.append(key: "seq", json: seq)
        json.append(key: "changeSeq", json: seq)
        json.append(key: "senderId", json: sender(of: id))
        json.append(key: "kind", json: message.replyTo == nil ? "text" as StaticString : "reply")
        json.append(key: "text", json: fault == .altersText && isVictim ? "something else" : message.text)
        if let parent = message.replyTo, fault != .forgetsParent {
            json.append(key: "replyTo")
            json.beginObject()
            json.append(key: "messageId", json: parent)
            json.endObject()
        }
        json.endObject()
        let stored = Stored(
            id: id, seq: seq, text: fault == .altersText && isVictim ? "something else" : message.text,
            parent: fault == .forgetsParent ? nil : message.replyTo, json: json.array)
        histories[conversation, default: []].append(stored)
        return stored
    }

    /// All messages of the test plan come from one user.
    private func sender(of _: MessageID) -> StaticString { "irc:ann" }

    private func page(_ kind: String, _ conversation: ConversationID, _ request: Request, _ responder: Responder) {
        let after = request.target.queryValue("after").flatMap { Int64($0) } ?? 0
        var messages = histories[conversation] ?? []
        if kind == "messages", fault == .losesMessage { messages.removeAll { $0.seq == 5 } }
        if kind == "messages", fault == .doublesMessage, let last = messages.last {
            messages.append(
                Stored(id: last.id, seq: last.seq + 1, text: last.text, parent: last.parent, json: last.json))
        }
        let rest = messages.filter { $0.seq > after }
        var body = ByteBuffer()
        body.beginObject()
        body.append(key: kind == "messages" ? "messages" : "changes")
        body.beginArray()
        if kind == "changes", after == 0 { body.append(utf8: created(conversation)) }
        for message in rest.prefix(7) {
            body.beginElement()
            kind == "messages" ? body.append(message.json) : write(message, conversation, to: &body)
        }
        body.endArray()
        body.append(key: kind == "messages" ? "hasMoreAfter" : "more", json: rest.count > 7)
        body.append(key: "lastSeq", json: messages.last?.seq ?? 1)
        body.endObject()
        responder.respond(200, body: body)
    }

    private func write(_ message: Stored, _ conversation: ConversationID, to body: inout ByteBuffer) {
        body.beginObject()
        body.append(key: "conversationId", json: conversation)
        body.append(key: "seq", json: message.seq)
        body.append(key: "kind", json: "message.created" as StaticString)
        body.append(key: "actorId", json: "irc:ann" as StaticString)
        body.append(key: "message")
        body.append(message.json)
        body.endObject()
    }

    /// Responds with the digest of the stored changes, at most a page.
    private func digest(_ conversation: ConversationID, _ responder: Responder) {
        let stored = histories[conversation] ?? []
        var (changes, state) = ("1 conversation.created - irc:ann\n", "")
        for message in stored {
            changes += "\(message.seq) message.created \(message.id) irc:ann\n"
            state += "\(message.seq) \(message.id) irc:ann \(message.parent?.description ?? "-") - - - "
            state += SHA256Text.of(fault == .digestsAnotherState && message.seq == 5 ? "x" : message.text) + "\n"
        }
        if fault == .digestsOtherChanges { changes.removeLast() }
        let last = stored.last?.seq ?? 1
        var body = ByteBuffer()
        body.append(#"{"pages":[{"fromSeq":1,"toSeq":"# as StaticString)
        body.append(decimal: last)
        body.append(
            utf8:
                #","changes":"\#(SHA256Text.of(changes))","state":"\#(SHA256Text.of(state))"}],"more":false,"lastSeq":"#
        )
        body.append(decimal: last)
        body.append("}" as StaticString)
        responder.respond(200, body: body)
    }

    /// The test plan has one user, who is the listener.
    private func listMembers(_ conversation: ConversationID, _ responder: Responder) {
        var body = ByteBuffer()
        body.append(#"{"members":[{"userId":"irc:ann","role":"owner","deliveredSeq":"# as StaticString)
        body.append(decimal: receipts["delivered"]?[conversation] ?? 0)
        body.append(#","readSeq":"# as StaticString)
        body.append(decimal: fault == .forgetsReading ? 0 : receipts["read"]?[conversation] ?? 0)
        body.append("}]}" as StaticString)
        responder.respond(200, body: body)
    }

    // MARK: WebSocket

    func admits(_: Request) -> Bool { true }
    func opened(_ socket: WebSocket) { sockets[ObjectIdentifier(socket)] = (socket, Session()) }
    func isTooSlow(_: WebSocket) {}
    func closed(_ socket: WebSocket) { sockets[ObjectIdentifier(socket)] = nil }

    func received(_ text: UnsafeRawBufferPointer, from socket: WebSocket) {
        guard let session = sockets[ObjectIdentifier(socket)]?.session, let cursors = try? Self.cursors(text) else {
            try? takeReceipt(text)
            return
        }
        session.cursors = cursors
        send(socket, #"{"type":"welcome","conversations":[],"more":false,"futureField":{"a":[1]}}"#)
        send(socket, #"{"type":"notYetInvented","delivery":7}"#)
        for conversation in cursors.keys { catchUp(socket, session, conversation) }
    }

    /// `{type, items: [{conversationId, seq}…]}`, its type first.
    private func takeReceipt(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var type = ""
        var reader = JSONReader(text)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if key == "type" { type = try reader.string() } else { try takeItems(&reader, type) }
        }
    }

    private func takeItems(_ reader: inout JSONReader, _ type: String) throws(JSONError) {
        try reader.beginArray()
        while try reader.nextElement() {
            try reader.beginObject()
            var conversation: ConversationID?
            while let key = try reader.nextKey() {
                if key == "conversationId" {
                    conversation = try reader.conversationID()
                } else if let conversation {
                    receipts[type, default: [:]][conversation] = try reader.integer()
                }
            }
        }
    }

    private static func cursors(_ text: UnsafeRawBufferPointer) throws -> [ConversationID: Int64] {
        var cursors: [ConversationID: Int64]?
        var reader = JSONReader(text)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            guard key == "cursors" else {
                try reader.skip()
                continue
            }
            cursors = [:]
            try reader.beginObject()
            while let id = try reader.nextKey() {
                let uuid = try UUIDBytes(id.string).unwrapped()
                cursors?[ConversationID(uuid)] = try reader.integer()
            }
        }
        return try cursors.unwrapped()
    }

    private func catchUp(_ socket: WebSocket, _ session: Session, _ conversation: ConversationID) {
        // The first change is the creation of the conversation.
        if session.cursors[conversation] == 0 {
            send(socket, #"{"type":"change","change":\#(created(conversation))}"#)
            session.cursors[conversation] = 1
        }
        let missed = (histories[conversation] ?? []).filter { $0.seq > session.cursors[conversation] ?? 0 }
        guard let last = missed.last else { return }
        if fault == .reloads {
            send(socket, #"{"type":"reload","conversationId":"\#(conversation)","lastSeq":\#(last.seq)}"#)
        } else {
            for message in missed { send(socket, message, conversation) }
        }
        session.cursors[conversation] = last.seq
    }

    private func created(_ conversation: ConversationID) -> String {
        #"{"conversationId":"\#(conversation)","seq":1,"kind":"conversation.created","actorId":"irc:ann","conversation":{}}"#
    }

    private func announce(_ stored: Stored, _ conversation: ConversationID, isFirst: Bool) {
        if fault == .losesChange, stored.seq == 5 { return }
        for (socket, session) in sockets.values where session.cursors[conversation] != nil {
            // A socket closed here catches up after reconnecting.
            if isFirst, [.closesSockets, .reloads].contains(fault), stored.seq % 8 == 0 {
                socket.close(.goingAway)
                session.cursors = [:]
                continue
            }
            send(socket, stored, conversation)
            session.cursors[conversation] = stored.seq
        }
    }

    private func send(_ socket: WebSocket, _ stored: Stored, _ conversation: ConversationID) {
        var frame = ByteBuffer()
        frame.append(#"{"type":"change","change":"# as StaticString)
        write(stored, conversation, to: &frame)
        frame.append("}" as StaticString)
        socket.send(.text(frame))
    }

    private func send(_ socket: WebSocket, _ text: String) {
        Array(text.utf8).withUnsafeBytes { socket.send(.text($0)) }
    }
}

extension Optional {
    fileprivate struct IsNil: Error {}

    fileprivate func unwrapped() throws -> Wrapped {
        guard let self else { throw IsNil() }
        return self
    }
}
