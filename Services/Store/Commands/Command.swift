import Bus
import Bytes
import Models
import Wire

/// A command on its way through the writer. Its bytes stay in the frame they arrived in until it is answered.
struct Command {
    enum Action {
        case create(CreateConversation)
        case send(Send)
        case write(Write)
        case read(ReadPositions)
        case settings(PutSettings)
        case beginErasure(EraseUser)
        case erase(EraseStep)
        case revoke(RevokeTokens)
    }

    struct Send {
        let conversation: ConversationID
        let sender: UserID
        let messages: [NewMessage]
    }

    let request: RequestKey
    let slot: Slot
    let trace: TraceContext?
    let action: Action
    /// Keeps the bytes that `action` borrows alive.
    private let frame: FrameSlice

    init(_ entry: RequestEntry, kind: StoreRequestKind, request: RequestKey, frame: FrameSlice) throws(WireError) {
        var reader = ByteReader(entry.fields)
        self.request = request
        self.frame = frame
        slot = entry.slot
        trace = entry.trace
        action =
            switch kind {
            case .createConversation: .create(try CreateConversation(from: &reader))
            case .sendMessages: .send(try Send(from: &reader))
            case .write: .write(try Write(from: &reader))
            case .readMoved: .read(try ReadPositions(from: &reader))
            case .putSettings: .settings(try PutSettings(from: &reader))
            case .eraseUser: .beginErasure(try EraseUser(from: &reader))
            case .eraseStep: .erase(try EraseStep(from: &reader))
            case .revokeTokens: .revoke(try RevokeTokens(from: &reader))
            default: throw .unknownValue(field: "command kind", UInt64(kind.rawValue))
            }
    }

    /// The size of the frame that it keeps alive.
    var keptBytes: Int { frame.keptBytes }

    /// Whether both came in one frame.
    func sharesFrame(with other: Command) -> Bool { frame.isOfSameFrame(as: other.frame) }

    /// The number of rows it adds to a batch.
    var rowCount: Int {
        switch action {
        case .create(let creation): creation.members.count + 1
        case .send(let send): send.messages.count
        case .write, .settings, .beginErasure, .revoke: 1
        case .read(let positions): positions.entries.count
        case .erase: ErasureStatements.hitsLimit
        }
    }
}

extension Command.Send {
    fileprivate init(from reader: inout ByteReader) throws(WireError) {
        let request = try SendMessages(from: &reader)
        var messages: [NewMessage] = []
        messages.reserveCapacity(request.count)
        try request.forEachMessage { messages.append($0) }
        self.init(conversation: request.conversation, sender: request.sender, messages: messages)
    }
}
