import Bus
import Bytes
import Models
import Wire

/// A command on its way through the writer. Its bytes stay in the frame they arrived in until it is answered.
struct Command {
    enum Action {
        /// Messages, which a batch stores with those of other commands.
        case send(Send)
        /// Read positions, which a batch merges with those of other commands.
        case read(ReadPositions)
        /// Everything else.
        case step(any BatchStep)
        /// What its user may do once a request is accepted, after this.
        indirect case answering(AnswerRequest, Action)
    }

    struct Send {
        let conversation: ConversationID
        let sender: UserID
        let messages: [NewMessage]
    }

    let request: RequestKey
    let slot: Slot
    let trace: TraceContext?
    private(set) var action: Action
    /// Keeps the bytes that `action` borrows alive.
    private let frame: FrameSlice

    init(_ entry: RequestEntry, kind: StoreRequestKind, request: RequestKey, frame: FrameSlice) throws(WireError) {
        var reader = ByteReader(entry.fields)
        self.request = request
        self.frame = frame
        slot = entry.slot
        trace = entry.trace
        if let parts = NewMessage.Parts(kind) {
            action = .send(try Send(from: &reader, parts))
        } else if kind == .readMoved {
            action = .read(try ReadPositions(from: &reader))
        } else {
            action = .step(try BatchSteps.decode(kind, &reader))
        }
    }

    /// The same after its user has accepted a request. Nil: so it is already.
    func answering(_ answer: AnswerRequest) -> Command? {
        if case .answering = action { return nil }
        var command = self
        command.action = .answering(answer, action)
        return command
    }

    /// The same as what its user asks of others.
    func asking(_ kind: AskToJoin, _ write: Write) -> Command {
        var command = self
        command.action = .step(ConversationWrite(write, kind))
        return command
    }

    /// The size of the frame that it keeps alive.
    var keptBytes: Int { frame.keptBytes }

    /// Whether both came in one frame.
    func sharesFrame(with other: Command) -> Bool { frame.isOfSameFrame(as: other.frame) }

    /// Whether it may take long and no client waits for it, so that it is committed apart from messages.
    var isBackgroundWork: Bool {
        switch action {
        case .send, .answering: false
        case .read: true
        case .step(let step): type(of: step).isBackgroundWork
        }
    }

    var isImport: Bool { if case .step(let step) = action { type(of: step).isImport } else { false } }

    /// Whether all that it reads and writes has its slot (`BatchStep`).
    var isOfOneSlot: Bool {
        switch action {
        // Whether who wrote a forwarded message is erased stands in the slot of their name.
        case .send(let send): !send.messages.contains { $0.isForwarded }
        case .read: true
        case .step(let step): step.isOfOneSlot
        case .answering: false
        }
    }

    /// The number of rows it adds to a batch.
    var rowCount: Int { action.rowCount }

    /// Whether it writes the rows of so many people that it takes many times as long as others.
    var isOfMany: Bool { rowCount > Self.manyPeople }
    private static let manyPeople = 64
}

extension Command.Action {
    fileprivate var rowCount: Int {
        switch self {
        case .send(let send): send.messages.count
        case .read(let positions): positions.entries.count
        case .step(let step): step.rowCount
        case .answering(let answer, let action): answer.rowCount + action.rowCount
        }
    }
}

extension Command.Send {
    fileprivate init(from reader: inout ByteReader, _ parts: NewMessage.Parts) throws(WireError) {
        let request = try SendMessages(from: &reader, parts)
        var messages: [NewMessage] = []
        messages.reserveCapacity(request.count)
        try request.forEachMessage { messages.append($0) }
        self.init(conversation: request.conversation, sender: request.sender, messages: messages)
    }
}
