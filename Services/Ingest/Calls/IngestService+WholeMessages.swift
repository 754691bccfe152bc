import Bus
import Bytes
import Models
import Reactor
import Wire

/// The messages of one conversation that a request sends, of which some have more than a text. They are kept, encoded, while
/// `media` is asked.
struct WholeMessages {
    private struct Message {
        /// The layout of `NewMessage.Parts.text`.
        let encoded: [UInt8]
        let media: MessageMedia
        let extra: [UInt8]
        let isSealed: Bool
        let poll: NewPoll?
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
            messages.append(
                Message(
                    encoded: buffer.array, media: message.media, extra: message.extra, isSealed: message.isSealed,
                    poll: message.poll))
        }
    }

    /// What `media` is asked, for those that have any. Nil: none has.
    var attachRequest: AttachMedia? {
        let media = messages.map(\.media).filter { !$0.media.isEmpty }
        return media.isEmpty ? nil : AttachMedia(conversation, by: sender, media)
    }

    /// What the store is asked: the oldest that has all of it, so that stores of before know it where they can.
    var kind: StoreRequestKind {
        if messages.contains(where: { $0.poll != nil }) { return .sendPoll }
        if messages.contains(where: \.isSealed) { return .sendSealed }
        return messages.contains { !$0.extra.isEmpty } ? .sendWhole : .sendWithAttachments
    }

    /// Writes the command for the store. `response` is what `media` said; nil if it cannot be read, or is no response to
    /// this.
    func command(_ response: UnsafeRawBufferPointer) -> [UInt8]? {
        var reader = ByteReader(response)
        let kind = kind
        guard let parts = NewMessage.Parts(kind) else { return nil }
        var buffer = ByteBuffer()
        SendMessages.writeHead(conversation, sender, count: messages.count, to: &buffer)
        for message in messages {
            buffer.append(message.encoded)
            var files = AttachmentList.none
            if !message.media.media.isEmpty {
                guard let list = try? AttachmentList(from: &reader), list.ids == message.media.media else { return nil }
                files = list
            }
            files.write(to: &buffer)
            if parts >= .whole { message.extra.withUnsafeBytes { buffer.append(long: $0) } }
            if parts >= .sealed { buffer.append(message.isSealed ? 1 : 0 as UInt8) }
            if parts == .poll { NewPoll.write(message.poll, to: &buffer) }
        }
        return buffer.array
    }
}

extension IngestService {
    /// Sends messages of which some have more than a text. Where there are attachments, `media` first makes their files last,
    /// then the store gets what it says of them. What `media` does not have is for the store to refuse, because it knows the
    /// message if this is a repetition.
    ///
    /// - Parameter size: as of `request`.
    func send(
        _ messages: WholeMessages, in slot: Slot, of user: UserID, size: Int, weight: Int?,
        _ exchange: Exchange, completion: @escaping @Reactor (Result<BusResponse, Problem>) -> Void
    ) {
        let store = { @Reactor [self] (media: UnsafeRawBufferPointer) in
            guard let command = messages.command(media) else { return completion(.failure(.unreadableResponse)) }
            request(
                messages.kind, in: slot, size: size, weight: weight, exchange,
                fields: { $0.append(command) }, completion: completion)
        }
        guard let attach = messages.attachRequest else {
            return store(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        request(
            .attach, of: user, size: size, weight: weight, exchange, fields: { attach.write(to: &$0) },
            completion: { result in
                switch result {
                case .failure(let problem): completion(.failure(problem))
                case .success(let response):
                    guard response.status < 400 else {
                        return completion(.failure(Problem(of: response) ?? .unreadableResponse))
                    }
                    store(response.payload.bytes)
                }
            })
    }
}

extension Problem {
    /// Why `media` has refused something.
    init?(of response: BusResponse) {
        var reader = ByteReader(response.payload.bytes)
        guard let problem = try? Problem(from: &reader) else { return nil }
        self = problem
    }
}
