import Bus
import Bytes
import Models
import Reactor
import Wire

/// The messages of one conversation that a request sends, of which some are to carry attachments. They are kept, encoded,
/// while `media` is asked.
struct MessagesWithAttachments {
    private struct Message {
        /// The layout of a message up to its attachments.
        let encoded: [UInt8]
        let media: MessageMedia
    }

    private let conversation: ConversationID
    private let sender: UserID
    private var messages: [Message] = []

    init(_ fields: some Sequence<MessageFields>, to conversation: ConversationID, by sender: UserID) {
        self.conversation = conversation
        self.sender = sender
        for message in fields {
            var buffer = ByteBuffer()
            message.write(to: &buffer)
            messages.append(Message(encoded: buffer.array, media: message.media))
        }
    }

    /// What `media` is asked, for those that have any.
    var attachRequest: AttachMedia {
        AttachMedia(conversation, by: sender, messages.lazy.map(\.media).filter { !$0.media.isEmpty })
    }

    /// Writes the command for the store. `response` is what `media` said; nil if it cannot be read, or is no response to
    /// this.
    func command(_ response: UnsafeRawBufferPointer) -> [UInt8]? {
        var reader = ByteReader(response)
        var buffer = ByteBuffer()
        SendMessages.writeHead(conversation, sender, count: messages.count, to: &buffer)
        for message in messages {
            buffer.append(message.encoded)
            guard !message.media.media.isEmpty else {
                AttachmentList.none.write(to: &buffer)
                continue
            }
            guard let list = try? AttachmentList(from: &reader), list.ids == message.media.media else { return nil }
            list.write(to: &buffer)
        }
        return buffer.array
    }
}

extension IngestService {
    /// Sends messages with attachments: `media` first makes their files last, then the store gets what it says of them.
    /// What `media` does not have is for the store to refuse, because it knows the message if this is a repetition.
    ///
    /// - Parameter size: as of `request`.
    func send(
        _ messages: MessagesWithAttachments, in slot: Slot, of user: UserID, size: Int, weight: Int?,
        _ exchange: Exchange, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let attach = messages.attachRequest
        request(
            .attach, of: user, size: size, weight: weight, exchange, fields: { attach.write(to: &$0) },
            completion: { [self] result in
                switch result {
                case .failure(let problem): completion(.failure(problem))
                case .success(let response):
                    guard response.status < 400 else {
                        return completion(.failure(Problem(of: response) ?? .unreadableResponse))
                    }
                    guard let command = messages.command(response.payload.bytes) else {
                        return completion(.failure(.unreadableResponse))
                    }
                    request(
                        .sendWithAttachments, in: slot, size: size, weight: weight, exchange,
                        fields: { $0.append(command) }, completion: completion)
                }
            })
    }
}

extension Problem {
    fileprivate init?(of response: BusResponse) {
        var reader = ByteReader(response.payload.bytes)
        guard let problem = try? Problem(from: &reader) else { return nil }
        self = problem
    }
}
