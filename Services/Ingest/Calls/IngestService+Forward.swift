import Bus
import Bytes
import Models
import Reactor
import Wire

extension IngestService {
    /// Sends a message with the text of another one. The store of that one is asked for the text, as for a message that the user reads; then
    /// the store of the conversation it goes to gets it, or why there is none, because it knows the message if this is a repetition.
    func send(
        _ message: MessageFields, forwarding fields: ForwardFields, to conversation: ConversationID, _ user: UserID,
        size: Int, _ exchange: Exchange, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let source = MessageQuery(ConversationQuery(fields.conversation, reader: user), message: fields.message)
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
                    var forward = Forward(of: source, showsOrigin: fields.showsOrigin)
                    var text = UnsafeRawBufferPointer(start: nil, count: 0)
                    switch found {
                    case .problem(let problem): forward.problem = problem
                    case .found(let origin, let bytes):
                        forward.origin = fields.showsOrigin ? origin : nil
                        text = bytes
                    }
                    request(
                        .sendForwarded, in: conversation.slot, size: size, exchange,
                        fields: { buffer in
                            SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
                            message.newMessage(text, forward).write(to: &buffer, .forwarded)
                        }, completion: completion)
                }
            })
    }
}
