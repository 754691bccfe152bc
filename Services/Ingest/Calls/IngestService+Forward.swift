import Bus
import Bytes
import Models
import Reactor
import Wire

/// A message that is to be forwarded, while the services that know something of it are asked in turn.
private struct ForwardedSend {
    let message: MessageFields
    let fields: ForwardFields
    let conversation: ConversationID
    let user: UserID
    var forward: Forward
    /// Of the source.
    var text: [UInt8] = []

    /// Writes the command for the store.
    /// - Parameter files: copies of those of the source.
    func write(_ files: AttachmentList, to buffer: inout ByteBuffer) {
        SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
        forward.withEncoded { forward in
            text.withUnsafeBytes { message.newMessage($0, files, forward).write(to: &buffer, .forwarded) }
        }
    }
}

extension IngestService {
    /// Sends a message with the text of another one, and copies of its files. The store of that one is asked for them, as for a message
    /// that the user reads, and `media` for copies. Then the store of the conversation it goes to gets it, or why there is none, because it
    /// knows the message if this is a repetition.
    func send(
        _ message: MessageFields, forwarding fields: ForwardFields, to conversation: ConversationID, _ user: UserID,
        size: Int, _ exchange: Exchange, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let source = MessageQuery(ConversationQuery(fields.conversation, reader: user), message: fields.message)
        var send = ForwardedSend(
            message: message, fields: fields, conversation: conversation, user: user,
            forward: Forward(of: source, showsOrigin: fields.showsOrigin))
        request(
            .forwardSource, in: fields.conversation.slot, size: size, exchange, fields: { source.write(to: &$0) },
            completion: { [self] result in
                switch result {
                case .failure(let problem): completion(.failure(problem))
                case .success(let response):
                    guard response.status < 400 else { return completion(.success(response)) }
                    var reader = ByteReader(response.payload.bytes)
                    guard let found = try? ForwardSource(from: &reader) else {
                        return completion(.failure(.unreadableResponse))
                    }
                    switch found {
                    case .problem(let problem):
                        send.forward.problem = problem
                        store(send, .none, size: size, exchange, completion)
                    case .found(let origin, let text, let media):
                        send.forward.origin = fields.showsOrigin ? origin : nil
                        send.text = Array(text)
                        // It costs what it would if the client had sent it.
                        exchange.account?.charge(bytes: text.count, at: .now)
                        guard !media.isEmpty else { return store(send, .none, size: size, exchange, completion) }
                        copy(media, send, size: size, exchange, completion)
                    }
                }
            })
    }

    private func copy(
        _ media: [MediaID], _ send: ForwardedSend, size: Int, _ exchange: Exchange,
        _ completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let copy = CopyMedia(
            MessageMedia(send.fields.message, media), in: send.fields.conversation, for: send.message.id,
            in: send.conversation,
            by: send.user)
        request(
            .copy, of: send.user, size: size, weight: nil, exchange, fields: { copy.write(to: &$0) },
            completion: { [self] result in
                switch result {
                case .failure(let problem): completion(.failure(problem))
                case .success(let response):
                    guard response.status < 400 else {
                        return completion(.failure(Problem(of: response) ?? .unreadableResponse))
                    }
                    var reader = ByteReader(response.payload.bytes)
                    guard let files = try? AttachmentList(from: &reader), files.count == media.count else {
                        return completion(.failure(.unreadableResponse))
                    }
                    guard files.areReady else {
                        var send = send
                        (send.forward.problem, send.forward.origin, send.text) = (.notForwardable, nil, [])
                        return store(send, .none, size: size, exchange, completion)
                    }
                    store(send, files, size: size, exchange, completion)
                }
            })
    }

    private func store(
        _ send: ForwardedSend, _ files: AttachmentList, size: Int, _ exchange: Exchange,
        _ completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        request(
            .sendForwarded, in: send.conversation.slot, size: size + send.text.count, exchange,
            fields: { send.write(files, to: &$0) },
            completion: completion)
    }
}

extension AttachmentList {
    fileprivate var areReady: Bool {
        var areReady = true
        forEach { if $0.verdict != .ready { areReady = false } }
        return areReady
    }
}
