import JSON
import Models
import Reactor

@testable import ParleyClient

/// A user's choices about showing others what they read.
struct Decisions {
    var everywhere = true
    var here: [ConversationID: Bool] = [:]
    /// A change is in flight, so it is unknown which choice applies.
    var isDeciding = false
    /// What was read while others were not to see it.
    var readUnseen: [ConversationID: Int64] = [:]

    /// Whether others may see what is read from now on.
    func mayShow(_ conversation: ConversationID) -> Bool { isDeciding || here[conversation] ?? everywhere }

    mutating func take(_ operation: Operation) {
        switch operation.kind {
        case .showReading(let shows): everywhere = shows
        case .showReadingHere(let shows): here[operation.conversation] = shows
        default: break
        }
    }
}

// Requests of a client to ingest, and their responses.
extension Client {
    func perform(_ operation: Operation) {
        if operation.isAboutSettings {
            guard !decisions.isDeciding else { return }
            decisions.isDeciding = true
            // What is still in flight is stored first, then shown according to the choice in force at that time.
            for (conversation, seq) in decisions.readUnseen { willRead(seq, conversation) }
        }
        if case .read(let seq) = operation.kind { willRead(seq, operation.conversation) }
        system.promises.asked(operation, user)
        let first = system.lastSeq(operation.conversation)
        var wasRefused = false
        ask(operation.request(token: token)) { [self] response, isRepetition in
            guard let isRefused = verdict(response) else {
                return world.violated("\(user) was answered \(response.status) to \(operation.kind)")
            }
            if isRepetition {
                if operation.isKeyed, isRefused != wasRefused {
                    world.violated("\(user) was answered \(response.status) to a repetition of \(operation.kind)")
                }
                return
            }
            wasRefused = isRefused
            finish(operation, isRefused: isRefused, first)
            if case .sendBatch(let messages) = operation.kind { finish(messages, response, operation, first) }
        }
    }

    private func finish(_ operation: Operation, isRefused: Bool, _ first: Int64) {
        if operation.isAboutSettings {
            decisions.isDeciding = false
            if !isRefused { decisions.take(operation) }
        }
        system.promises.answered(
            .init(
                operation: operation, user: user, isRefused: isRefused, first: first,
                last: system.lastSeq(operation.conversation)))
    }

    /// Handles a batch. Each of its messages is refused or stored on its own.
    private func finish(
        _ messages: [(id: MessageID, text: String)], _ response: IngestConnection.Response, _ batch: Operation,
        _ first: Int64
    ) {
        let statuses = (try? BatchState(document: response.body).statuses) ?? []
        if statuses.count != messages.count { world.violated("a batch has \(statuses.count) results") }
        for (message, status) in zip(messages, statuses) where status < 300 {
            let kind = Operation.Kind.send(message.id, text: message.text, replyTo: nil)
            finish(Operation(conversation: batch.conversation, key: batch.key, kind: kind), isRefused: false, first)
        }
    }

    /// Whether the request was refused. Nil means that no such response exists.
    private func verdict(_ response: IngestConnection.Response) -> Bool? {
        switch response.status {
        case 200, 201, 202, 204: return false
        case 403, 404, 409, 422: return true
        default: return nil
        }
    }

    func ask(_ request: [UInt8], then: @escaping @Reactor (IngestConnection.Response, _ isRepetition: Bool) -> Void) {
        unanswered += 1
        Inquiry(request, in: system) { [weak self] response, isRepetition in
            if !isRepetition { self?.unanswered -= 1 }
            then(response, isRepetition)
        }.ask()
    }

    /// Notes that others may see a read position, unless the user does not want that.
    func willRead(_ seq: Int64, _ conversation: ConversationID) {
        guard decisions.mayShow(conversation) else {
            return decisions.readUnseen[conversation] = max(decisions.readUnseen[conversation] ?? 0, seq)
        }
        system.promises.reads(seq, Promises.Place(user: user, conversation: conversation))
    }

    // MARK: Reading

    /// Reads the current conversation and checks all of it.
    func readHistory(_ conversation: ConversationID) {
        let promises = system.promises
        get("/v1/conversations/\(conversation)/messages?limit=200") { [self] body in
            guard let page = try? PageState(document: body) else { return world.violated("a history is no JSON") }
            if let fault = system.fault(inHistory: page, of: conversation, toldTo: user, promises) {
                world.violated("\(user) reads \(fault)")
            }
        }
    }

    /// Pages through the changes, as after a gap.
    func readChanges(_ conversation: ConversationID) {
        get("/v1/conversations/\(conversation)/changes?after=0&limit=1000") { [self] body in
            guard let page = try? PageState(document: body) else { return world.violated("changes are no JSON") }
            if let fault = system.fault(inChanges: page, of: conversation, toldTo: user) {
                world.violated("\(user) pages through \(fault)")
            }
        }
    }

    /// Reads the earlier texts and the tapbacks of a message. Used when all work is done.
    func readDetails(_ message: MessageID, in conversation: ConversationID) {
        let path = "/v1/conversations/\(conversation)/messages/\(message)"
        get("\(path)/revisions") { [self] body in
            let ledger = system.ledger(conversation)
            let texts = try? DetailState(document: body).texts
            if texts != ledger?.messages[message]?.texts.map(\.text) { world.violated("\(user) reads wrong revisions") }
        }
        get("\(path)/tapbacks") { [self] body in
            let counts = try? DetailState(document: body).counts
            let ledger = system.ledger(conversation)
            if counts != ledger?.messages[message]?.counts(at: .max) { world.violated("\(user) reads wrong tapbacks") }
        }
    }

    /// Sends a GET request. A user who was never a member gets an empty result.
    private func get(_ path: String, then: @escaping @Reactor ([UInt8]) -> Void) {
        ask(HTTPText.request("GET", path, token: token)) { [weak self] response, _ in
            switch response.status {
            case 200: then(response.body)
            case 404: break
            default: self?.world.violated("GET \(path) was answered \(response.status)")
            }
        }
    }
}
